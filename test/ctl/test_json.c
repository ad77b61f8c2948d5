/* SPDX-License-Identifier: MIT */
/* What mounts say in JSON, some of which are other users'. */
#include "fs/ctl/ask/json_read.h"

#include "fs/ctl/ask/file_info.h"

#include <criterion/criterion.h>
#include <string.h>

static bool is_read(const char *text)
{
    cleanup(json_read_done) struct json_object *object = NULL;
    int r = json_read(text, &object);

    cr_expect_eq(r, object != NULL ? 0 : -EINVAL, "%s", text);
    return object != NULL;
}

static bool number_in(const char *value, uint64_t *ret_number)
{
    cleanup(json_read_done) struct json_object *object = NULL;
    char text[128];

    snprintf(text, sizeof text, "{\"a\":%s}", value);
    return json_read(text, &object) == 0 && json_number(json_member(object, "a"), ret_number);
}

Test(json, numbers_are_exact)
{
    static const uint64_t numbers[] = {
        0, 1, (1ULL << 53) + 1, INT64_MAX - 1, INT64_MAX, INT64_MAX + 1ULL, UINT64_MAX - 1, UINT64_MAX,
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        char value[32];
        uint64_t number = 7;

        snprintf(value, sizeof value, "%" PRIu64, numbers[i]);
        cr_expect(number_in(value, &number), "%s", value);
        cr_expect_eq(number, numbers[i], "%s is %" PRIu64, value, number);
    }
}

Test(json, what_is_no_number)
{
    static const char *const values[] = {
        "-1", "1.5", "1e3", "\"1\"", "true", "[]", "{}", "nil", "0x10", "", "-99999999999999999999999"
    };
    uint64_t number = 7;

    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        cr_expect_not(number_in(values[i], &number), "%s", values[i]);
    cr_expect_eq(number, 7);
    /* Some versions of json-c take the largest for all that are larger, others take them for none. */
    if (number_in("18446744073709551616", &number))
        cr_expect_eq(number, UINT64_MAX);
    else
        cr_expect_eq(number, 7);
}

Test(json, what_is_none)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "\"a\"",
        "{}x",
        "{} {}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":01}",
        "{\"a\":nan}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"",
        "{\"a\"}",
        "{\"a\":1}}",
        "\xef\xbb\xbf{}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        cr_expect_not(is_read(texts[i]), "%s", texts[i]);
    cr_expect(is_read(" {\"a\" : [ ] } "));
}

/* {"a":{"a":...{}}} */
static char *nested(size_t depth)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    cr_assert_not_null(out);
    for (size_t i = 1; i < depth; i++)
        fputs("{\"a\":", out);
    fputs("{}", out);
    for (size_t i = 1; i < depth; i++)
        fputc('}', out);
    fclose(out);
    return text;
}

Test(json, what_is_nested_too_deep_is_refused)
{
    cleanup(freep) char *deepest = nested(JSON_READ_DEPTH), *deeper = nested(JSON_READ_DEPTH + 1),
                        *bottomless = nested(10000);

    cr_expect(is_read(deepest));
    cr_expect_not(is_read(deeper));
    cr_expect_not(is_read(bottomless));
}

Test(json, what_is_longer_than_an_attribute_is_refused)
{
    cleanup(freep) char *text = malloc(JSON_READ_MAX + 2);

    cr_assert_not_null(text);
    memset(text, ' ', JSON_READ_MAX + 1);
    memcpy(text, "{}", 2);
    text[JSON_READ_MAX] = 0;
    cr_expect(is_read(text));
    text[JSON_READ_MAX] = ' ';
    text[JSON_READ_MAX + 1] = 0;
    cr_expect_not(is_read(text));
}

/* Whoever asks for a part that is not there, or something else, gets nothing. */
Test(json, parts_may_be_anything)
{
    cleanup(json_read_done) struct json_object *object = NULL;

    cr_assert_eq(json_read("{\"s\":\"a\\u0000b\",\"t\":\"\\u001b\\u00e9\",\"l\":[1,null],\"n\":null}", &object), 0);
    cr_expect_null(json_text(json_member(object, "s")), "its end is not where it seems to be");
    cr_expect_str_eq(json_text(json_member(object, "t")), "\033\xc3\xa9");
    cr_expect_null(json_text(json_member(object, "l")));
    cr_expect_null(json_text(json_member(object, "n")));
    cr_expect_null(json_copy(json_member(object, "none")));
    cr_expect_null(json_member(json_member(object, "l"), "s"));
    cr_expect_null(json_member(NULL, "s"));
    cr_expect_eq(json_count(json_member(object, "l")), 2);
    cr_expect_eq(json_count(json_member(object, "t")), 0);
    cr_expect_null(json_at(json_member(object, "l"), 2));
    cr_expect_null(json_at(json_member(object, "t"), 0));
    cr_expect_not(json_is_true(json_member(object, "t")));
    cr_expect_not(json_is_true(NULL));
}

Test(json, what_is_written_again_is_ours)
{
    cleanup(json_read_done) struct json_object *object = NULL;
    char text[512] = "";
    struct json json = { .out = fmemopen(text, sizeof text, "w") };

    cr_assert_eq(json_read("{ \"a\": 18446744073709551615, \"b\": [true, false, null, {\"c\": -3}, 0.5],"
                           " \"d\": \"\\u001b[31m\\\"\\u007f\\u009b\\u00e9\" , \"\\u0007\": 1 }",
                           &object),
                 0);
    cr_assert_not_null(json.out);
    json_again(&json, NULL, object);
    fclose(json.out);
    cr_expect_str_eq(text, "{\"a\":18446744073709551615,\"b\":[true,false,null,{\"c\":-3},0.5],"
                           "\"d\":\"\\u001b[31m\\\"\\u007f\\u009b\xc3\xa9\",\"\\u0007\":1}");
}

/* What a mount says of a layout. */
#define SAID(n_disks, takes, disks, header)                                                                \
    "{\"n_disks\":" n_disks ",\"takes\":[" takes "],\"layout\":\"stripe(4K,2) disp 8\",\"from\":\"file\"," \
    "\"disks\":[" disks "],\"header_disk\":\"" header "\",\"size\":18446744073709551615}"

static int hear(const char *json, struct file_info *ret_info)
{
    *ret_info = (struct file_info){ 0 };
    return file_info_read(ret_info, "/nowhere", json);
}

Test(json, a_layout_as_a_mount_says_it)
{
    cleanup(file_info_done) struct file_info info;

    cr_assert_eq(hear(SAID("3", "\"d0\",\"d2\"", "\"d2\",\"d0\"", "d1"), &info), 0);
    cr_expect_eq(info.n_disks, 3);
    cr_expect_eq(info.size, UINT64_MAX);
    cr_expect_eq(file_info_disk(&info, 0), 2);
    cr_expect_eq(file_info_disk(&info, 1), 0);
    cr_expect_eq(file_info_disk(&info, ELEMENT_HEADER), 1);
    cr_expect(file_info_takes(&info, 2));
    cr_expect_not(file_info_takes(&info, 1));
    cr_expect_not(info.rotates);
}

/* Disks count in tables as long as the volume has disks. */
Test(json, disks_that_a_volume_has_not)
{
    static const char *const said[] = {
        SAID("2", "\"d0\"", "\"d0\",\"d2\"", "d0"),
        SAID("2", "\"d2\"", "\"d0\",\"d1\"", "d0"),
        SAID("2", "\"d0\"", "\"d0\",\"d1\"", "d2"),
        SAID("2", "\"d0\"", "\"d0\",\"d-1\"", "d0"),
        SAID("2", "\"d0\"", "\"d0\",\"d1x\"", "d0"),
        SAID("2", "\"d0\"", "\"d0\",\"d\"", "d0"),
        SAID("2", "\"d0\"", "\"d0\",1", "d0"),
        SAID("2", "\"d0\"", "\"d0\",\"d4294967296\"", "d0"),
        SAID("2", "\"d0\"", "\"d0\",\"d18446744073709551616\"", "d0"),
        SAID("2", "", "\"d0\",\"d1\"", "d0"),
        SAID("2", "\"d0\"", "", "d0"),
        SAID("0", "\"d0\"", "\"d0\",\"d1\"", "d0"),
        SAID("4294967298", "\"d0\"", "\"d0\",\"d1\"", "d0"),
        SAID("\"2\"", "\"d0\"", "\"d0\",\"d1\"", "d0"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
        cleanup(file_info_done) struct file_info info;

        cr_expect_eq(hear(said[i], &info), -EINVAL, "%s", said[i]);
    }
}
