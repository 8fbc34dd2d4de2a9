// tests/ranks/mpi_faults.cpp - stands before the library of MPI, and makes its calls late, fail, or
// be the last ones.
//
//   UNWEAVE_MPI_FAULT="RANK CALL KIND [MICROSECONDS]"   KIND: fail, at call number CALL of that rank, from 1; kill, there or
//                                                       that long afterwards, wherever the rank is by then; delay: every
//                                                       call from that one on, RANK -1 for all ranks
//   UNWEAVE_MPI_CALLS=FILE                              each rank appends how many calls it has made, at its end
//   UNWEAVE_MPI_SIZES=FILE                              and rank 0 how many bytes each of its broadcasts had
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Fault {
  long rank = -2, call = 0, microseconds = 0;
  char kind[16] = "";
  long calls = 0;
  int own_rank = -1;
  std::vector<int> broadcasts;

  Fault() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // a delay is as long as it says
    if (const char* const text = std::getenv("UNWEAVE_MPI_FAULT"))
      std::sscanf(text, "%ld %ld %15s %ld", &rank, &call, kind, &microseconds);
  }
  /// Counts a call; true where it is to fail.
  bool strikes() {
    if (own_rank < 0) PMPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    ++calls;
    if (rank != -1 && rank != own_rank) return false;
    if (std::strcmp(kind, "delay") == 0) {
      if (calls >= call) ::usleep(static_cast<useconds_t>(microseconds));
      return false;
    }
    if (calls != call) return false;
    if (std::strcmp(kind, "kill") == 0) {
      if (microseconds == 0) ::raise(SIGKILL);
      std::thread([pause = microseconds] {
        ::usleep(static_cast<useconds_t>(pause));
        ::raise(SIGKILL);
      }).detach();
    }
    return std::strcmp(kind, "fail") == 0;
  }
};

Fault& fault() {
  static Fault one;
  return one;
}

/// The file that a variable of the environment names, opened to append to it; null where the
/// variable is not set.
std::FILE* file_of(const char* variable) {
  const char* const path = std::getenv(variable);
  return path != nullptr && *path != '\0' ? std::fopen(path, "a") : nullptr;
}

}  // namespace

extern "C" {

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  return fault().strikes() ? MPI_ERR_OTHER : PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

int MPI_Ibcast(void* bytes, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  fault().broadcasts.push_back(count);
  return fault().strikes() ? MPI_ERR_OTHER : PMPI_Ibcast(bytes, count, type, root, comm, request);
}

int MPI_Isend(const void* bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  return fault().strikes() ? MPI_ERR_OTHER : PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

int MPI_Irecv(void* bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  return fault().strikes() ? MPI_ERR_OTHER : PMPI_Irecv(bytes, count, type, from, tag, comm, request);
}

int MPI_Finalize() {
  if (std::FILE* const file = file_of("UNWEAVE_MPI_CALLS")) {
    std::fprintf(file, "%d %ld\n", fault().own_rank, fault().calls);
    std::fclose(file);
  }
  if (std::FILE* const file = fault().own_rank == 0 ? file_of("UNWEAVE_MPI_SIZES") : nullptr) {
    for (const int bytes : fault().broadcasts) std::fprintf(file, "%d\n", bytes);
    std::fclose(file);
  }
  return PMPI_Finalize();
}
}
