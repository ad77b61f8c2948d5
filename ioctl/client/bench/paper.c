/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/paper.h"

#include "layout/base.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct paper_case paper_cases[] = {
    { 1, "I",     false, "(1:100:1,1:100:1)" }, /* common */
    { 1, "II",    false, "(200:300:1,200:300:1)" },
    { 1, "III",   false, "(400:800:1,400:800:1)" },
    { 1, "IV",    false, "(32:64:1,128:1024:1)" },
    { 1, "V",     false, "(1:16:1,1:4096:1)" },
    { 1, "VI",    false, "(1:4096:1,1:16:1)" },

    { 2, "I",     false, "(1:100:1,1+10p:100+10p:1)" }, /* overlapping */
    { 2, "II",    false, "(1:100:1,1+50p:100+50p:1)" },
    { 2, "III",   false, "(400:800:1,400+100p:800+100p:1)" },
    { 2, "IV",    false, "(1:4096:1,1+8p:16+8p:1)" },
    { 2, "V",     false, "(1+50p:100+50p:1,1:100:1)" },
    { 2, "VI",    false, "(400+100p:800+100p:1,400:800:1)" },
    { 2, "VII",   false, "(1+8p:16+8p:1,1:4096:1)" },
    { 2, "VIII",  false, "(200+100p:400+100p:1,200+100p:400+100p:1)" },

    { 3, "I",     false, "(1:100:1,1+100p:100+100p:1)" }, /* distinct */
    { 3, "II",    false, "(1+100p:100+100p:1,1:100:1)" },
    { 3, "III",   false, "(200+200p:400+200p:1,512:1024:1)" },
    { 3, "IV",    false, "(1+32p:16+32p:1,1:4096:1)" },
    { 3, "V",     false, "(200+200p:400+200p:1,1+200p:512+200p:1)" },
    { 3, "VI",    false, "(1+32p:32+32p:1,1+100p:1024+100p:1)" },

    { 4, "I",     true,  "(1:100:1,1+100p:100+100p:1)" },
    { 4, "II",    true,  "(1+100p:100+100p:1,1:100:1)" },
    { 4, "III",   true,  "(200+200p:400+200p:1,512:1024:1)" },
    { 4, "IV",    true,  "(1+32p:16+32p:1,1:4096:1)" },
    { 4, "V",     true,  "(200+200p:400+200p:1,1+200p:512+200p:1)" },
    { 4, "VI",    true,  "(1+32p:32+32p:1,1+100p:1024+100p:1)" },

    { 5, "I",     false, "(p+1:4096:P,p+1:4096:P)" }, /* strided */
    { 5, "II",    false, "(1+250p:250+250p:2,1+250p:250+250p:2)" },
    { 5, "III",   false, "(1+200p:500+200p:3,1+200p:500+200p:3)" },
    { 5, "IV",    false, "(1+64p:64+64p:2,500:2500:3)" },
    { 5, "V",     false, "(500:2500:3,1+64p:64+64p:2)" },

    { 6, "I",     true,  "(p+1:4096:P,p+1:4096:P)" },
    { 6, "II",    true,  "(1+250p:250+250p:2,1+250p:250+250p:2)" },
    { 6, "III",   true,  "(1+200p:500+200p:3,1+200p:500+200p:3)" },
    { 6, "IV",    true,  "(1+64p:64+64p:2,500:2500:3)" },
    { 6, "V",     true,  "(500:2500:3,1+64p:64+64p:2)" },

    { 7, "I",     false, "(400:800:1,400:800:1)" }, /* for 4 to 128 processes */
    { 7, "II",    false, "(1:16:1,1:4096:1)" },
    { 7, "III",   false, "(400:800:1,400+25p:800+25p:1)" },
    { 7, "IV",    false, "(1+8p:16+8p:1,1:4096:1)" },
    { 7, "V",     false, "(1+25p:16+25p:1,1:4096:1)" },
    { 7, "VI",    false, "(1+32p:32+32p:1,1+24p:1024+24p:1)" },
    { 7, "VII",   false, "(p+1:4096:P,p+1:4096:P)" },
    { 7, "VIII",  false, "(500:2500:3,1+32p:32+32p:2)" },
    { 7, "Vw",    true,  "(1+25p:16+25p:1,1:4096:1)" },
    { 7, "VIw",   true,  "(1+32p:32+32p:1,1+24p:1024+24p:1)" },
    { 7, "VIIw",  true,  "(p+1:4096:P,p+1:4096:P)" },
    { 7, "VIIIw", true,  "(500:2500:3,1+32p:32+32p:2)" },

    { 8, "I",     false, "(5000:6000:1,5000:6000:1)" }, /* large */
    { 8, "II",    false, "(1+100p:300+100p:1,4000:8000:1)" },
    { 8, "III",   false, "(1+100p:400+100p:1,2000+20p:2800+20p:1)" },
    { 8, "IV",    false, "(4000:8000:1,1+4p:8+4p:1)" },
    { 8, "V",     false, "(1+100p:100+100p:1,1+100p:1024+100p:1)" },
    { 8, "VI",    false, "(1+20p:16+20p:1,4000:12000:1)" },
    { 8, "Vw",    true,  "(1+100p:100+100p:1,1+100p:1024+100p:1)" },
    { 8, "VIw",   true,  "(1+20p:16+20p:1,4000:12000:1)" },
};
/* clang-format on */

const size_t paper_n_cases = ARRAY_SIZE(paper_cases);

struct fallsfs_array paper_array(const struct paper_case *c)
{
    uint64_t side = c->table == 8 ? 16384 : 4096;

    return (struct fallsfs_array){ .ndims = 2, .order = FALLSFS_COLUMN_MAJOR, .elem = 4, .size = { side, side } };
}

bool paper_is_named(const struct paper_case *c, const char *word)
{
    char table[8], full[24];

    snprintf(table, sizeof table, "%" PRIu32, c->table);
    snprintf(full, sizeof full, "%" PRIu32 "/%s", c->table, c->name);
    return strcmp(word, table) == 0 || strcmp(word, full) == 0;
}
