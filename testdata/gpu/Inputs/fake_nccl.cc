// A library with the functions of NCCL that works among the threads of one process on memory of the
// host (backends/gpu/library/recording_nccl.h), beside the driver of fake_driver.cc. At the end it
// says on stderr how the contract was broken and, with $HLO_FAKE_NCCL=show, what was called.
#include <cstdio>
#include <cstdlib>

#include "backends/gpu/library/recording_nccl.h"

namespace {

struct Fake {
  hlo::gpu::RecordingNccl nccl;
  ~Fake() {
    const bool shows = std::getenv("HLO_FAKE_NCCL") != nullptr;
    for (const std::string& call : nccl.calls()) {
      if (shows) std::fprintf(stderr, "fake nccl: %s\n", call.c_str());
    }
    for (const std::string& breach : nccl.breaches())
      std::fprintf(stderr, "fake nccl: breach: %s\n", breach.c_str());
    if (nccl.alive() > 0)
      std::fprintf(stderr, "fake nccl: %d communicators not given back\n", nccl.alive());
  }
} fake;

const hlo::gpu::Nccl& table() { return hlo::gpu::RecordingNccl::Table(); }

}  // namespace

using hlo::gpu::NcclConfig;
using hlo::gpu::NcclUniqueId;

extern "C" {

int ncclGetVersion(int* version) { return table().ncclGetVersion(version); }
const char* ncclGetErrorString(int result) { return table().ncclGetErrorString(result); }
const char* ncclGetLastError(void* comm) { return table().ncclGetLastError(comm); }
int ncclGetUniqueId(NcclUniqueId* id) { return table().ncclGetUniqueId(id); }
int ncclCommInitRankConfig(void** comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config) {
  return table().ncclCommInitRankConfig(comm, ranks, id, rank, config);
}
int ncclCommFinalize(void* comm) { return table().ncclCommFinalize(comm); }
int ncclCommDestroy(void* comm) { return table().ncclCommDestroy(comm); }
int ncclCommAbort(void* comm) { return table().ncclCommAbort(comm); }
int ncclCommGetAsyncError(void* comm, int* result) {
  return table().ncclCommGetAsyncError(comm, result);
}
int ncclGroupStart() { return table().ncclGroupStart(); }
int ncclGroupEnd() { return table().ncclGroupEnd(); }
int ncclAllReduce(const void* from, void* to, size_t count, int type, int reduction, void* comm,
                  void* stream) {
  return table().ncclAllReduce(from, to, count, type, reduction, comm, stream);
}
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int reduction, void* comm,
                      void* stream) {
  return table().ncclReduceScatter(from, to, count, type, reduction, comm, stream);
}
int ncclAllGather(const void* from, void* to, size_t count, int type, void* comm, void* stream) {
  return table().ncclAllGather(from, to, count, type, comm, stream);
}
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* comm,
                  void* stream) {
  return table().ncclBroadcast(from, to, count, type, root, comm, stream);
}
int ncclSend(const void* from, size_t count, int type, int peer, void* comm, void* stream) {
  return table().ncclSend(from, count, type, peer, comm, stream);
}
int ncclRecv(void* to, size_t count, int type, int peer, void* comm, void* stream) {
  return table().ncclRecv(to, count, type, peer, comm, stream);
}

}  // extern "C"
