/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/open_files.h"

#include "fs/ctl/ask/json_read.h"
#include "fs/ctl/ask/mount_text.h"

#include <stdio.h>
#include <string.h>

static uint64_t number_of(const struct json_object *object, const char *name)
{
    uint64_t value = 0;

    (void) json_number(json_member(object, name), &value);
    return value;
}

/* Finds the process that a thread belongs to, and what it is called. */
static void look_at_process(struct open_file *file)
{
    char path[64], line[128];
    int tgid;
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/status", (int) file->pid);
    in = file->pid > 0 ? fopen(path, "re") : NULL;
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        (void) sscanf(line, "Name: %16[^\n]", file->command);
        if (sscanf(line, "Tgid: %d", &tgid) == 1)
            file->pid = tgid;
    }
    if (in != NULL)
        fclose(in);
}

static void read_file(const struct json_object *object, struct open_file *file)
{
    file->handle = number_of(object, "handle");
    file->inode = number_of(object, "inode");
    file->file = json_copy(json_member(object, "file"));
    file->is_view = json_is_true(json_member(object, "view"));
    file->uid = (uid_t) number_of(object, "uid");
    file->pid = (pid_t) MIN(number_of(object, "pid"), INT32_MAX);
    file->reads = number_of(object, "reads");
    file->read = number_of(object, "read");
    file->writes = number_of(object, "writes");
    file->written = number_of(object, "written");
    look_at_process(file);
}

int open_files_get(const char *target, struct open_files *ret_files, char ret_why[static ATTRS_WHY])
{
    cleanup(json_read_done) struct json_object *all = NULL;
    cleanup(freep) char *text = NULL;
    const struct json_object *list;
    struct open_files files = { 0 };
    int r = mount_text_get(target, "open.json", JSON_READ_LONG, &text, ret_why);

    if (r < 0)
        return r;
    r = json_read_long(text, &all);
    if (r < 0)
        return attrs_refuse(ret_why, r, "%s: what it says of open files cannot be read: %s", target, strerror(-r));
    list = json_member(all, "open");
    files.n = (uint32_t) json_count(list);
    files.file = calloc(MAX(files.n, 1), sizeof files.file[0]);
    if (files.file == NULL)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < files.n; i++)
        read_file(json_at(list, i), &files.file[i]);
    *ret_files = files;
    return 0;
}

void open_files_done(struct open_files *files)
{
    for (uint32_t i = 0; i < files->n; i++)
        free(files->file[i].file);
    free(files->file);
    *files = (struct open_files){ 0 };
}

const struct open_file *open_files_find(const struct open_files *files, uint64_t handle)
{
    for (uint32_t i = 0; i < files->n; i++)
        if (files->file[i].handle == handle)
            return &files->file[i];
    return NULL;
}
