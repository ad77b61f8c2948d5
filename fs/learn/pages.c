/* SPDX-License-Identifier: MIT */
#include "fs/learn/pages.h"

#define BITS 64

static bool has(const struct page_bits *bits, uint64_t page)
{
    return page / BITS < bits->n && (bits->word[page / BITS] >> page % BITS & 1) != 0;
}

/* Makes room for all pages before end. */
static int reach(struct page_bits *bits, uint64_t end)
{
    uint64_t n = (end + BITS - 1) / BITS, room = MAX(n, 2 * bits->n);
    uint64_t *word;

    if (n <= bits->n)
        return 0;
    word = realloc(bits->word, room * sizeof *word);
    if (word == NULL)
        return -ENOMEM;
    memset(word + bits->n, 0, (room - bits->n) * sizeof *word);
    *bits = (struct page_bits){ word, room };
    return 0;
}

static void set(struct page_bits *bits, uint64_t page)
{
    bits->word[page / BITS] |= UINT64_C(1) << page % BITS;
}

int pages_init(struct pages *pages, uint32_t n_slots, uint64_t size, uint64_t ahead)
{
    *pages = (struct pages){ size, ahead / size, calloc(n_slots, sizeof *pages->slot), n_slots };
    return pages->slot == NULL ? -ENOMEM : 0;
}

void pages_done(struct pages *pages)
{
    for (uint32_t i = 0; pages->slot != NULL && i < pages->n_slots; i++) {
        free(pages->slot[i].here.word);
        free(pages->slot[i].ahead.word);
        free(pages->slot[i].written.word);
    }
    free(pages->slot);
    *pages = (struct pages){ 0 };
}

/* Pages first to end, of which some have to be asked for: those, and what is ahead when somebody reads on. */
static int ask_disk(const struct pages *pages, struct page_table *table, uint64_t first, uint64_t end,
                    struct page_ask *ask)
{
    bool reads_on = first == 0 || has(&table->here, first - 1);
    uint64_t to = reads_on ? MAX(end, first + pages->ahead) : end;
    int r = reach(&table->ahead, to);

    if (r < 0)
        return r;
    for (uint64_t page = first; page < to; page++)
        set(&table->ahead, page);
    ask->goes = true;
    ask->from = first * pages->size;
    ask->to = to * pages->size;
    return 0;
}

int pages_read(struct pages *pages, uint32_t slot, uint64_t from, uint64_t len, struct page_ask *ret_ask)
{
    struct page_table *table = &pages->slot[slot];
    uint64_t first = from / pages->size, end = (from + len - 1) / pages->size + 1;
    struct page_ask ask = { 0 };
    int r = reach(&table->here, end);

    for (uint64_t page = first; r == 0 && page < end; page++) {
        if (has(&table->here, page))
            continue;
        if (!ask.goes && !has(&table->ahead, page))
            r = ask_disk(pages, table, page, end, &ask);
        set(&table->here, page);
        ask.bytes += pages->size;
    }
    if (r == 0)
        *ret_ask = ask;
    return r;
}

int pages_write(struct pages *pages, uint32_t slot, uint64_t from, uint64_t len)
{
    struct page_bits *written = &pages->slot[slot].written;
    uint64_t end = (from + len - 1) / pages->size + 1;
    int r = reach(written, end);

    for (uint64_t page = from / pages->size; r == 0 && page < end; page++)
        set(written, page);
    return r;
}

bool pages_written(const struct pages *pages, uint32_t slot, uint64_t *at, uint64_t *ret_from, uint64_t *ret_to)
{
    const struct page_bits *written = &pages->slot[slot].written;
    uint64_t page = *at / pages->size, end = written->n * BITS;

    while (page < end && !has(written, page))
        page++;
    if (page >= end)
        return false;
    *ret_from = page * pages->size;
    while (page < end && has(written, page))
        page++;
    *ret_to = *at = page * pages->size;
    return true;
}
