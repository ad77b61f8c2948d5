/* SPDX-License-Identifier: MIT */
#include "layout/scan.h"
#include "layout/sweep.h"

/* A FALLS as written, with its PITFALLS suffix: p elements, each d further on. */
struct spec {
    struct falls f;
    uint64_t d, p;
    struct spec *inner, *next;
    uint64_t n_elements; /* p times those of the inner set */
    uint32_t nodes;      /* FALLS here and below, for one element */
    uint32_t origin;
    size_t at;
};

/* One element as written: it stands for n_elements of the pattern. */
struct element_spec {
    struct spec *set; /* NULL: "()", no bytes */
    uint64_t n_elements;
    uint32_t disk;
    struct element_spec *next;
};

static int check_tuple(struct scanner *scanner, const struct spec *spec, const size_t at[4])
{
    const struct falls *f = &spec->f;

    if (f->l > f->r)
        return scan_fail(scanner, -EINVAL, at[1], "right end %" PRIu64 " lies before the left end %" PRIu64, f->r,
                         f->l);
    if (f->s == 0)
        return scan_fail(scanner, -EINVAL, at[2],
                         "stride 0: blocks would lie on each other; it must be at least %" PRIu64, falls_len(f));
    if (f->n == 0)
        return scan_fail(scanner, -EINVAL, at[3], "count 0: a FALLS has at least 1 block");
    if (f->r < FALLS_LIMIT && f->s < falls_len(f))
        return scan_fail(scanner, -EINVAL, at[2],
                         "stride %" PRIu64 " is less than the block of %" PRIu64 " bytes: blocks overlap", f->s,
                         falls_len(f));
    if (falls_check(f) < 0)
        return scan_fail(scanner, -EOVERFLOW, spec->at, "this FALLS reaches past byte 2^62");
    return 0;
}

/* Stores the last byte that any of the FALLS' elements may select; true when it does not lie before FALLS_LIMIT. */
static bool spec_last_overflows(const struct spec *spec, uint64_t *ret_last)
{
    uint64_t shifts;

    return mul_overflows(spec->d, spec->p - 1, &shifts) || add_overflows(falls_end(&spec->f) - 1, shifts, ret_last) ||
           *ret_last >= FALLS_LIMIT;
}

static int parse_falls(struct scanner *scanner, unsigned depth, uint32_t origin, struct spec **ret_spec);

static int add_origin(struct scanner *scanner, size_t at)
{
    if (!array_grow(scanner->origin_at, scanner->n_origins))
        return scan_out_of_memory(scanner);
    scanner->origin_at[scanner->n_origins++] = at;
    return 0;
}

/* Parses a set of FALLS, all of which must stand for the same number of elements, and adds to *nodes how many FALLS one
 * of these elements takes. On the outermost level, depth 1, each FALLS is an origin of its own. */
static int parse_set(struct scanner *scanner, unsigned depth, uint32_t origin, struct spec **ret_set, uint32_t *nodes)
{
    struct spec **next = ret_set;

    do {
        int r = 0;

        scan_blanks(scanner);
        if (depth == 1) {
            r = add_origin(scanner, scanner->at);
            origin = scanner->n_origins - 1;
        }
        if (r == 0)
            r = parse_falls(scanner, depth, origin, next);
        if (r < 0)
            return r;
        *nodes += (*next)->nodes;
        if (*nodes > FALLS_MAX_NODES)
            return scan_fail(scanner, -E2BIG, (*next)->at, "more than %d FALLS", FALLS_MAX_NODES);
        if ((*next)->n_elements != (*ret_set)->n_elements)
            return scan_fail(scanner, -EINVAL, (*next)->at,
                             "this FALLS stands for %" PRIu64 " elements, the first of its set for %" PRIu64
                             ": their ;d,p suffixes differ",
                             (*next)->n_elements, (*ret_set)->n_elements);
        next = &(*next)->next;
    } while (scan_accept(scanner, ','));
    return 0;
}

static int parse_inner(struct scanner *scanner, unsigned depth, uint32_t origin, struct spec *spec)
{
    int r;

    if (depth == FALLS_MAX_DEPTH)
        return scan_fail(scanner, -E2BIG, scanner->at, "nested deeper than %d levels", FALLS_MAX_DEPTH);
    r = scan_expect(scanner, '{');
    if (r == 0)
        r = parse_set(scanner, depth + 1, origin, &spec->inner, &spec->nodes);
    if (r == 0)
        r = scan_expect(scanner, '}');
    if (r < 0)
        return r;
    for (const struct spec *in = spec->inner; in != NULL; in = in->next) {
        uint64_t last;

        if (spec_last_overflows(in, &last))
            last = FALLS_LIMIT;
        if (last >= falls_len(&spec->f))
            return scan_fail(scanner, -EINVAL, in->at,
                             "inner FALLS reaches byte %" PRIu64 ", the block around it has only %" PRIu64 " bytes",
                             last, falls_len(&spec->f));
    }
    return 0;
}

static int parse_suffix(struct scanner *scanner, struct spec *spec)
{
    uint64_t last;
    size_t at;
    int r = scan_size(scanner, &spec->d);

    if (r == 0)
        r = scan_expect(scanner, ',');
    scan_blanks(scanner);
    at = scanner->at;
    if (r == 0)
        r = scan_positive(scanner, "the number of elements", &spec->p);
    if (r < 0)
        return r;
    if (spec->p > FALLS_MAX_NODES)
        return scan_fail(scanner, -E2BIG, at, "more than %d elements", FALLS_MAX_NODES);
    if (spec_last_overflows(spec, &last))
        return scan_fail(scanner, -EOVERFLOW, spec->at, "the last element of this FALLS reaches past byte 2^62");
    return 0;
}

/* Parses "(" l,r,s,n [ ";" d,p ] [ ", {" falls,... "}" ] ")". */
static int parse_falls(struct scanner *scanner, unsigned depth, uint32_t origin, struct spec **ret_spec)
{
    struct spec *spec = draft_alloc(&scanner->draft, sizeof *spec);
    uint64_t number[4];
    size_t at[4] = { 0 };
    int r;

    if (spec == NULL)
        return scan_out_of_memory(scanner);
    scan_blanks(scanner);
    *spec = (struct spec){ .p = 1, .nodes = 1, .origin = origin, .at = scanner->at };
    r = scan_peek(scanner) == '(' ? scan_expect(scanner, '(') : scan_fail_expected(scanner, "a FALLS (l,r,s,n)");
    for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(number); i++) {
        if (i > 0)
            r = scan_expect(scanner, ',');
        scan_blanks(scanner);
        at[i] = scanner->at;
        if (r == 0)
            r = scan_size(scanner, &number[i]);
    }
    if (r < 0)
        return r;
    spec->f = (struct falls){ number[0], number[1], number[2], number[3] };
    r = check_tuple(scanner, spec, at);
    if (r == 0 && scan_accept(scanner, ';'))
        r = parse_suffix(scanner, spec);
    if (r == 0 && scan_accept(scanner, ','))
        r = parse_inner(scanner, depth, origin, spec);
    if (r == 0 && !scan_accept(scanner, ')'))
        r = scan_fail_expected(scanner, spec->inner != NULL ? "')'"
                                        : spec->p > 1       ? "',{' or ')'"
                                                            : "';d,p', ',{' or ')'");
    if (r < 0)
        return r;
    spec->n_elements = spec->p * (spec->inner != NULL ? spec->inner->n_elements : 1);
    if (spec->n_elements > FALLS_MAX_NODES)
        return scan_fail(scanner, -E2BIG, spec->at, "more than %d elements", FALLS_MAX_NODES);
    *ret_spec = spec;
    return 0;
}

/* Builds the set of the k-th of the elements that a set of FALLS stands for. */
static struct part *expand_set(struct draft *draft, const struct spec *set, uint64_t k, uint32_t owner)
{
    struct parts out = { 0 };

    for (const struct spec *spec = set; spec != NULL && draft->error == 0; spec = spec->next) {
        uint64_t below = spec->n_elements / spec->p, shift = k / below * spec->d;
        struct part *inner = expand_set(draft, spec->inner, k % below, owner), *part;
        struct falls f = { spec->f.l + shift, spec->f.r + shift, spec->f.s, spec->f.n };

        part = draft_part(draft, f, inner);
        if (part == NULL)
            return NULL;
        part->owner = owner;
        part->origin = spec->origin;
        parts_append(&out, part);
    }
    return out.first;
}

/* Parses [disk ":"] falls { "," falls } or "()". */
static int parse_element(struct scanner *scanner, struct element_spec **ret_element, uint64_t *n_nodes)
{
    struct element_spec *element = draft_alloc(&scanner->draft, sizeof *element);
    uint32_t nodes = 0;
    size_t start;
    int r = 0;

    if (element == NULL)
        return scan_out_of_memory(scanner);
    *element = (struct element_spec){ .disk = LAYOUT_ANY_DISK, .n_elements = 1 };
    if (scan_peek(scanner) == 'd') {
        r = scan_disk(scanner, &element->disk);
        if (r == 0)
            r = scan_expect(scanner, ':');
    }
    scan_blanks(scanner);
    start = scanner->at;
    if (r == 0 && scan_accept(scanner, '(') && scan_accept(scanner, ')')) {
        *ret_element = element;
        return 0;
    }
    if (r == 0) {
        scanner->at = start;
        r = parse_set(scanner, 1, 0, &element->set, &nodes);
    }
    if (r < 0)
        return r;
    element->n_elements = element->set->n_elements;
    *n_nodes += nodes * element->n_elements;
    if (*n_nodes > FALLS_MAX_NODES)
        return scan_fail(scanner, -E2BIG, start, "more than %d FALLS, all elements together", FALLS_MAX_NODES);
    *ret_element = element;
    return 0;
}

/* Says what pattern_new found wrong, in the words of the notation and at its place in the text. */
static int fail_pattern(struct scanner *scanner, int r, const struct pattern_error *error, size_t start)
{
    const uint32_t *origin = error->origin;
    size_t at = scanner->n_origins > 0 ? scanner->origin_at[origin[error->fault == PATTERN_OVERLAP]] : start;

    switch (error->fault) {
    case PATTERN_OVERLAP:
        if (origin[0] == origin[1])
            return scan_fail(scanner, r, at, "FALLS %" PRIu32 " overlaps itself at byte %" PRIu64, origin[0],
                             error->byte);
        return scan_fail(scanner, r, at, "FALLS %" PRIu32 " overlaps FALLS %" PRIu32 " at byte %" PRIu64, origin[1],
                         origin[0], error->byte);
    case PATTERN_GAP:
        return scan_fail(scanner, r, at,
                         "gap: no FALLS covers byte %" PRIu64 ", the next is byte %" PRIu64 " of FALLS %" PRIu32,
                         error->byte, error->next, origin[0]);
    case PATTERN_IRREGULAR:
        return scan_fail(scanner, r, start, "too irregular: putting its FALLS in order takes too many pieces");
    case PATTERN_TOO_DEEP:
        return scan_fail(scanner, r, start, "nested deeper than %d levels once its FALLS are in order",
                         FALLS_MAX_DEPTH);
    case PATTERN_TOO_LONG:
        return scan_fail(scanner, r, start, "displacement and period reach past byte 2^62");
    case PATTERN_EMPTY:
        return scan_fail(scanner, r, start, "no element has any bytes");
    case PATTERN_FINE:
        break;
    }
    return scan_fail(scanner, r, start, r == -ENOMEM ? "out of memory" : "too large");
}

int scan_build_pattern(struct scanner *scanner, struct layout *layout, struct part *const list[], uint32_t n,
                       size_t start)
{
    struct pattern_error error = { 0 };
    int r = pattern_new(&scanner->draft, list, n, layout->disp, &layout->pattern, &error);

    return r < 0 ? fail_pattern(scanner, r, &error, start) : 0;
}

int falls_build_pattern(struct scanner *scanner, struct layout *layout, const struct element_spec *elements,
                        size_t start)
{
    struct part **list = draft_alloc(&scanner->draft, layout->n * sizeof(struct part *));
    bool placed = false;
    uint32_t i = 0;

    for (const struct element_spec *e = elements; e != NULL; e = e->next)
        placed = placed || e->disk != LAYOUT_ANY_DISK;
    if (placed)
        layout->element_disk = malloc(layout->n * sizeof layout->element_disk[0]);
    if (list == NULL || (placed && layout->element_disk == NULL))
        return scan_out_of_memory(scanner);
    for (const struct element_spec *e = elements; e != NULL; e = e->next)
        for (uint64_t k = 0; k < e->n_elements; k++, i++) {
            list[i] = expand_set(&scanner->draft, e->set, k, i);
            if (placed)
                layout->element_disk[i] = e->disk;
        }
    return scan_build_pattern(scanner, layout, list, (uint32_t) layout->n, start);
}

int falls_parse_elements(struct scanner *scanner, struct layout *layout, struct element_spec **ret_elements)
{
    struct element_spec **next = ret_elements;
    uint64_t nodes = 0;
    int r;

    layout->kind = LAYOUT_FALLS;
    do {
        size_t start;

        scan_blanks(scanner);
        start = scanner->at;
        r = parse_element(scanner, next, &nodes);
        if (r < 0)
            return r;
        layout->n += (*next)->n_elements;
        if (layout->n > FALLS_MAX_NODES)
            return scan_fail(scanner, -E2BIG, start, "more than %d elements", FALLS_MAX_NODES);
        next = &(*next)->next;
    } while (scan_accept(scanner, ';'));
    return scan_accept(scanner, '}') ? 0 : scan_fail_expected(scanner, "',', ';' or '}'");
}

/* Parses a set in braces, and sweeps it. */
static int parse_nest(struct scanner *scanner, struct part **ret_swept)
{
    struct pattern_error error = { 0 };
    struct fault fault = { 0 };
    struct spec *set = NULL;
    uint32_t nodes = 0;
    int r = scan_check_text(scanner);

    if (r == 0)
        r = scan_expect(scanner, '{');
    if (r == 0 && scan_peek(scanner) != '}')
        r = parse_set(scanner, 1, 0, &set, &nodes);
    if (r == 0)
        r = scan_expect(scanner, '}');
    if (r == 0 && !scan_at_end(scanner))
        r = scan_fail_expected(scanner, "nothing more");
    if (r == 0 && set != NULL && set->n_elements > 1)
        r = scan_fail(scanner, -EINVAL, set->at, "a single set has no ;d,p suffix");
    if (r < 0)
        return r;
    *ret_swept = parts_sweep(&scanner->draft, expand_set(&scanner->draft, set, 0, 0), &fault);
    r = scanner->draft.error;
    error = (struct pattern_error){ .fault = r == -ERANGE  ? PATTERN_OVERLAP
                                             : r == -E2BIG ? PATTERN_IRREGULAR
                                                           : PATTERN_FINE,
                                    .byte = fault.byte,
                                    .origin = { MIN(fault.origin[0], fault.origin[1]),
                                                MAX(fault.origin[0], fault.origin[1]) } };
    return r < 0 ? fail_pattern(scanner, r, &error, 0) : 0;
}

int nest_parse(const char *text, size_t len, struct nest **ret_nest, struct layout_error *ret_error)
{
    cleanup(scan_done) struct scanner scanner = { .text = text, .len = len, .error = ret_error };
    struct part *swept = NULL;
    int r = parse_nest(&scanner, &swept);

    if (r < 0)
        return r;
    r = nest_new(swept, ret_nest);
    return r < 0 ? scan_fail(&scanner, r, 0, r == -ENOMEM ? "out of memory" : "nested too deep") : 0;
}
