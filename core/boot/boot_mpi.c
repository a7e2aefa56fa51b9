/* core/boot/boot_mpi.c: see boot.h.
 * No MPI header is used, because a program may bring any MPI. Two families of binary interfaces cover those in use:
 * handles are pointers and MPI_BYTE is an object of the library (Open MPI), or handles are int and MPI_BYTE is a
 * constant (MPICH, Intel MPI, MVAPICH, Cray MPI). */
#include "core/boot/boot.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

enum { MPICH_BYTE = 0x4c00010d };

struct mpi {
    void *library; /* NULL: the program's global symbols */
    void *byte;    /* the object; NULL: handles are int */
    int (*initialized)(int *);
    union {
        struct {
            int (*rank)(void *, int *), (*size)(void *, int *), (*bcast)(void *, int, void *, int, void *);
        } by_pointer;
        struct {
            int (*rank)(int, int *), (*size)(int, int *), (*bcast)(void *, int, int, int, int);
        } by_int;
    } call;
};

/* ---- finding it ---- */

/* Finds an MPI library that a shared object has loaded outside the program's global scope, as Python modules do. */
static int find_loaded(struct dl_phdr_info *info, size_t info_bytes, void *found)
{
    (void)info_bytes;
    const char *name = strrchr(info->dlpi_name, '/');
    if (name == NULL || strncmp(name, "/libmpi", 7) != 0) return 0;
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return 0;
    if (dlsym(library, "MPI_Comm_rank") == NULL) {
        dlclose(library);
        return 0;
    }
    *(void **)found = library;
    return 1;
}

static isthmus_status bind_function(const struct mpi *mpi, const char *name, void *out_function)
{
    void *symbol = dlsym(mpi->library != NULL ? mpi->library : RTLD_DEFAULT, name);
    memcpy(out_function, &symbol, sizeof symbol); /* ISO C has no conversion from object to function pointers */
    if (symbol != NULL) return ISTHMUS_OK;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                    "the MPI library of this process lacks %s; use Open MPI or an MPI with MPICH's ABI", name);
}

static isthmus_status mpi_open(struct mpi *out)
{
    *out = (struct mpi){.library = NULL};
    if (dlsym(RTLD_DEFAULT, "MPI_Comm_rank") == NULL && dl_iterate_phdr(find_loaded, &out->library) == 0)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                        "mpi_comm was passed, but no MPI library is loaded in this process; link the program with MPI");
    out->byte = dlsym(out->library != NULL ? out->library : RTLD_DEFAULT, "ompi_mpi_byte");
    isthmus_status status = bind_function(out, "MPI_Initialized", &out->initialized);
    if (status == ISTHMUS_OK) status = bind_function(out, "MPI_Comm_rank", &out->call.by_pointer.rank);
    if (status == ISTHMUS_OK) status = bind_function(out, "MPI_Comm_size", &out->call.by_pointer.size);
    if (status == ISTHMUS_OK) status = bind_function(out, "MPI_Bcast", &out->call.by_pointer.bcast);
    return status;
}

static void mpi_close(struct mpi *mpi)
{
    if (mpi->library != NULL) dlclose(mpi->library);
}

/* ---- calling it ---- */

static isthmus_status check_call(const char *name, int code)
{
    return code == 0 ? ISTHMUS_OK : ist_fail(ISTHMUS_ERR_IO, "%s failed with code %d", name, code);
}

static isthmus_status read_place(const struct mpi *mpi, const void *comm, int *rank, int *size)
{
    int is_initialized = 0, code = mpi->initialized(&is_initialized);
    if (code == 0 && !is_initialized)
        return ist_fail(ISTHMUS_ERR_INVALID, "mpi_comm was passed, but MPI is not initialized; call MPI_Init before");
    if (code == 0)
        code = mpi->byte != NULL ? mpi->call.by_pointer.rank(*(void *const *)comm, rank)
                                 : mpi->call.by_int.rank(*(const int *)comm, rank);
    if (code == 0)
        code = mpi->byte != NULL ? mpi->call.by_pointer.size(*(void *const *)comm, size)
                                 : mpi->call.by_int.size(*(const int *)comm, size);
    return check_call("MPI_Comm_rank or MPI_Comm_size", code);
}

static isthmus_status broadcast(const struct mpi *mpi, const void *comm, void *buffer, int length_bytes)
{
    int code = mpi->byte != NULL ? mpi->call.by_pointer.bcast(buffer, length_bytes, mpi->byte, 0, *(void *const *)comm)
                                 : mpi->call.by_int.bcast(buffer, length_bytes, MPICH_BYTE, 0, *(const int *)comm);
    return check_call("MPI_Bcast", code);
}

/* Rank 0 makes the id. If it cannot, it broadcasts an id of format 0, so that the other ranks fail too. */
static isthmus_status share_uid(const struct mpi *mpi, const struct ist_config *config, const void *comm, int rank,
                                struct ist_uid *uid)
{
    isthmus_status created = rank == 0 ? ist_uid_create(config, uid) : ISTHMUS_OK;
    if (created != ISTHMUS_OK) memset(uid, 0, sizeof *uid);
    isthmus_status status = broadcast(mpi, comm, uid, (int)sizeof *uid);
    if (created != ISTHMUS_OK) return created;
    if (status == ISTHMUS_OK && uid->format == 0)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "rank 0 could not make a unique id for the job; its own message has the reason");
    return status;
}

isthmus_status ist_boot_mpi_request(const struct ist_config *config, const void *comm, struct ist_boot_request *out)
{
    struct mpi mpi;
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_UID};
    isthmus_status status = mpi_open(&mpi);
    if (status == ISTHMUS_OK) status = read_place(&mpi, comm, &request.pe, &request.n_pes);
    if (status == ISTHMUS_OK) status = share_uid(&mpi, config, comm, request.pe, &request.uid);
    mpi_close(&mpi);
    if (status == ISTHMUS_OK) *out = request;
    return status;
}
