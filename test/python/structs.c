/* SPDX-License-Identifier: MIT */
/* Prints what the compiler makes of the structures that Python fills in: a line for each field, "array size 24 128", its
 * place and its length, and one for each whole, "array - 0 152". Constants follow as "ROW = 0". */
#include <fallsfs_slabs.h>
#include <stdio.h>

#define WHOLE(name, type) printf("%s - 0 %zu\n", name, sizeof(type))
#define FIELD(name, type, field) \
    printf("%s %s %zu %zu\n", name, #field, offsetof(type, field), sizeof((type){ 0 }.field))
#define NUMBER(name, value) printf("%s = %llu\n", name, (unsigned long long) (value))

static void print_array(void)
{
    WHOLE("Array", struct fallsfs_array);
    FIELD("Array", struct fallsfs_array, ndims);
    FIELD("Array", struct fallsfs_array, order);
    FIELD("Array", struct fallsfs_array, elem);
    FIELD("Array", struct fallsfs_array, header);
    FIELD("Array", struct fallsfs_array, size);
}

static void print_range(void)
{
    WHOLE("Range", struct fallsfs_range);
    FIELD("Range", struct fallsfs_range, lower);
    FIELD("Range", struct fallsfs_range, upper);
    FIELD("Range", struct fallsfs_range, stride);
}

static void print_hints(void)
{
    WHOLE("Hints", struct fallsfs_hints);
    FIELD("Hints", struct fallsfs_hints, domains);
    FIELD("Hints", struct fallsfs_hints, sieve);
    FIELD("Hints", struct fallsfs_hints, window);
    FIELD("Hints", struct fallsfs_hints, workers);
    FIELD("Hints", struct fallsfs_hints, timeout_ms);
}

static void print_list(void)
{
    WHOLE("Piece", struct fallsfs_ioc_piece);
    FIELD("Piece", struct fallsfs_ioc_piece, off);
    FIELD("Piece", struct fallsfs_ioc_piece, len);
    WHOLE("List", struct fallsfs_list);
    FIELD("List", struct fallsfs_list, disp);
    FIELD("List", struct fallsfs_list, falls);
    FIELD("List", struct fallsfs_list, pieces);
    FIELD("List", struct fallsfs_list, n);
    FIELD("List", struct fallsfs_list, id);
    FIELD("List", struct fallsfs_list, extent);
    FIELD("List", struct fallsfs_list, skip);
    FIELD("List", struct fallsfs_list, bytes);
}

static void print_stats(void)
{
    WHOLE("Stats", struct fallsfs_ioc_stats);
    FIELD("Stats", struct fallsfs_ioc_stats, version);
    FIELD("Stats", struct fallsfs_ioc_stats, reserved32);
    FIELD("Stats", struct fallsfs_ioc_stats, group);
    FIELD("Stats", struct fallsfs_ioc_stats, calls);
    FIELD("Stats", struct fallsfs_ioc_stats, asked);
    FIELD("Stats", struct fallsfs_ioc_stats, disk_read);
    FIELD("Stats", struct fallsfs_ioc_stats, disk_written);
    FIELD("Stats", struct fallsfs_ioc_stats, mapped);
    FIELD("Stats", struct fallsfs_ioc_stats, reread);
    FIELD("Stats", struct fallsfs_ioc_stats, windows);
    FIELD("Stats", struct fallsfs_ioc_stats, windows_mapped);
    FIELD("Stats", struct fallsfs_ioc_stats, windows_list);
    FIELD("Stats", struct fallsfs_ioc_stats, requests);
    FIELD("Stats", struct fallsfs_ioc_stats, domains);
    FIELD("Stats", struct fallsfs_ioc_stats, plan_reused);
    FIELD("Stats", struct fallsfs_ioc_stats, ns_wait);
    FIELD("Stats", struct fallsfs_ioc_stats, ns_plan);
    FIELD("Stats", struct fallsfs_ioc_stats, ns_io);
    FIELD("Stats", struct fallsfs_ioc_stats, ns_exchange);
    FIELD("Stats", struct fallsfs_ioc_stats, ns_total);
    FIELD("Stats", struct fallsfs_ioc_stats, error);
    FIELD("Stats", struct fallsfs_ioc_stats, n_culprits);
    FIELD("Stats", struct fallsfs_ioc_stats, culprit);
    FIELD("Stats", struct fallsfs_ioc_stats, more_reserved32);
    FIELD("Stats", struct fallsfs_ioc_stats, by_itself);
    FIELD("Stats", struct fallsfs_ioc_stats, reserved);
}

static void print_slabs(void)
{
    WHOLE("SlabsArray", struct fallsfs_slabs_array);
    FIELD("SlabsArray", struct fallsfs_slabs_array, fd);
    FIELD("SlabsArray", struct fallsfs_slabs_array, access);
    FIELD("SlabsArray", struct fallsfs_slabs_array, group);
    FIELD("SlabsArray", struct fallsfs_slabs_array, array);
    FIELD("SlabsArray", struct fallsfs_slabs_array, halo);
    FIELD("SlabsArray", struct fallsfs_slabs_array, reserved);
    WHOLE("SlabsWalk", struct fallsfs_slabs_walk);
    FIELD("SlabsWalk", struct fallsfs_slabs_walk, axis);
    FIELD("SlabsWalk", struct fallsfs_slabs_walk, prefetch);
    FIELD("SlabsWalk", struct fallsfs_slabs_walk, memory);
    FIELD("SlabsWalk", struct fallsfs_slabs_walk, tile);
    FIELD("SlabsWalk", struct fallsfs_slabs_walk, grid);
    FIELD("SlabsWalk", struct fallsfs_slabs_walk, part);
    FIELD("SlabsWalk", struct fallsfs_slabs_walk, rounds);
    FIELD("SlabsWalk", struct fallsfs_slabs_walk, reserved);
}

static void print_slab(void)
{
    WHOLE("Slab", struct fallsfs_slab);
    FIELD("Slab", struct fallsfs_slab, bytes);
    FIELD("Slab", struct fallsfs_slab, first);
    FIELD("Slab", struct fallsfs_slab, n);
    FIELD("Slab", struct fallsfs_slab, lower);
    FIELD("Slab", struct fallsfs_slab, size);
    WHOLE("SlabsStats", struct fallsfs_slabs_stats);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, rounds);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, bytes_read);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, bytes_kept);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, bytes_written);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, n_ready);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, waited_read_ns);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, waited_written_ns);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, memory);
    FIELD("SlabsStats", struct fallsfs_slabs_stats, reserved);
}

int main(void)
{
    print_array();
    print_range();
    print_hints();
    print_list();
    print_stats();
    print_slabs();
    print_slab();
    NUMBER("ROW", FALLSFS_ROW_MAJOR);
    NUMBER("COLUMN", FALLSFS_COLUMN_MAJOR);
    NUMBER("MAX_DIMS", FALLSFS_MAX_DIMS);
    NUMBER("TYPE_SIZE", FALLSFS_TYPE_SIZE);
    NUMBER("SIZE_UNKNOWN", FALLSFS_SIZE_UNKNOWN);
    NUMBER("NO_TIMEOUT", FALLSFS_TIMEOUT_NONE);
    NUMBER("NO_PREFETCH", FALLSFS_SLABS_NO_PREFETCH);
    NUMBER("ACCESS.r", FALLSFS_SLABS_READ);
    NUMBER("ACCESS.w", FALLSFS_SLABS_WRITE);
    NUMBER("ACCESS.r+", FALLSFS_SLABS_READ | FALLSFS_SLABS_WRITE);
    NUMBER("DOMAINS.static", FALLSFS_DOMAINS_STATIC);
    NUMBER("DOMAINS.dynamic", FALLSFS_DOMAINS_DYNAMIC);
    NUMBER("DOMAINS.cyclic", FALLSFS_DOMAINS_CYCLIC);
    NUMBER("DOMAINS.disk", FALLSFS_DOMAINS_DISK);
    NUMBER("SIEVE.auto", FALLSFS_SIEVE_AUTO);
    NUMBER("SIEVE.on", FALLSFS_SIEVE_ON);
    NUMBER("SIEVE.off", FALLSFS_SIEVE_OFF);
    return 0;
}
