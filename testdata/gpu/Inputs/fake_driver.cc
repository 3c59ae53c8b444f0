// A library with the functions of the CUDA driver that keeps host memory and runs no kernel, for
// tests of what happens around them. $HLO_FAKE_CUDA says what goes wrong:
//
//   old      it supports CUDA 11.8        stub     it is the toolkit's stub
//   none     it knows no device           full     the device has 1 KiB of memory
//   fault    kernels fail when they run   refuse   kernels fail when they are launched
//   show     nothing; each launch is said on stderr, and each kernel that asks for more shared memory
//   sums     nothing; the kernel `sums` of ptx_kernel.hlo is run
//   narrow   blocks have no more shared memory than kernels may declare
//   several  nothing; there are eight devices
//
// At the end it says on stderr when something was not given back.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace {

constexpr int kOutOfMemory = 2, kStub = 34, kIllegalAddress = 700, kOutOfResources = 701;

bool Wants(const char* what) {
  const char* const chosen = std::getenv("HLO_FAKE_CUDA");
  return chosen != nullptr && std::string(chosen) == what;
}

// What is alive, by kind.
struct Ledger {
  std::map<std::string, int> alive;
  ~Ledger() {
    for (const auto& [kind, count] : alive) {
      if (count != 0)
        std::fprintf(stderr, "fake driver: %d %s not given back\n", count, kind.c_str());
    }
  }
};
Ledger ledger;
bool launched = false;
void* sums = nullptr;                   // the kernel of that name
std::map<void*, unsigned> most_shared;  // by kernel: bytes that its launches may bring

int Make(void** handle, const char* kind) {
  *handle = std::malloc(1);
  ++ledger.alive[kind];
  return 0;
}
int Destroy(void* handle, const char* kind) {
  std::free(handle);
  --ledger.alive[kind];
  return 0;
}
// CUlaunchConfig of the driver's header, of one attribute at most.
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  const int* attributes;  // the first number says which
  unsigned attribute_count;
};

void* Host(uint64_t address) { return reinterpret_cast<void*>(address); }

// (a, sum, b, difference), addresses of `count` floats each.
void RunSums(void** parameters, unsigned count) {
  float* arrays[4];
  for (int i = 0; i < 4; ++i)
    arrays[i] = static_cast<float*>(Host(*static_cast<const uint64_t*>(parameters[i])));
  for (unsigned i = 0; i < count; ++i) {
    arrays[1][i] = arrays[0][i] + arrays[2][i];
    arrays[3][i] = arrays[0][i] - arrays[2][i];
  }
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return Wants("stub") ? kStub : 0; }
int cuDriverGetVersion(int* version) {
  *version = Wants("old") ? 11080 : 13000;
  return 0;
}
int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR";
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == kOutOfMemory      ? "out of memory"
          : error == kIllegalAddress ? "an illegal memory access was encountered"
                                     : "too many resources requested for launch";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = Wants("none") ? 0 : Wants("several") ? 8 : 1;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<size_t>(length), "fake GPU");
  return 0;
}
int cuDeviceGetUuid_v2(void* uuid, int device) {
  std::memset(uuid, device + 1, 16);
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kThreads = 1, kMajor = 75, kMinor = 76, kMostShared = 97;
  *value = attribute == kThreads      ? 1024
           : attribute == kMostShared ? (Wants("narrow") ? 48 : 227) * 1024
           : attribute == kMajor      ? 9
           : attribute == kMinor      ? 0
                                      : 4;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{1} << 30;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return Make(context, "contexts"); }
int cuDevicePrimaryCtxRelease_v2(int) {
  --ledger.alive["contexts"];
  return 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  // Of PTX the target is said; machine code has other first characters.
  const std::string_view text(static_cast<const char*>(image));
  const size_t target = text.find(".target ");
  const bool is_ptx = text.starts_with(".version") && target != std::string_view::npos;
  if (Wants("show") && is_ptx)
    std::fprintf(stderr, "fake driver: PTX for %.5s\n", text.substr(target + 8).data());
  return Make(module, "modules");
}
int cuModuleUnload(void* module) { return Destroy(module, "modules"); }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = module;
  if (std::string_view(name) == "sums") sums = module;
  return 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  constexpr int kSharedOfLaunch = 8;
  if (attribute != kSharedOfLaunch) return kOutOfResources;
  most_shared[function] = static_cast<unsigned>(value);
  if (Wants("show")) std::fprintf(stderr, "fake driver: up to %d bytes of shared memory\n", value);
  return 0;
}
int cuLaunchKernelEx(const void* launch, void* function, void** parameters, void**) {
  launched = true;
  const auto& config = *static_cast<const LaunchConfig*>(launch);
  // As the driver: no more than was asked for, which is this much where nobody asked.
  constexpr unsigned kUnasked = 48 * 1024;
  const auto asked = most_shared.find(function);
  if (config.shared_bytes > (asked == most_shared.end() ? kUnasked : asked->second))
    return kOutOfResources;
  if (Wants("sums") && function == sums)
    RunSums(parameters, config.grid[0] * config.block[0] * config.block[1] * config.block[2]);
  constexpr int kProgrammaticSerialization = 6;
  const bool overlaps =
      config.attribute_count == 1 && config.attributes[0] == kProgrammaticSerialization;
  if (Wants("show")) {
    std::string more = config.stream == nullptr ? ", no stream" : "";
    if (overlaps) more += ", overlapping";
    if (config.shared_bytes > 0)
      more += ", " + std::to_string(config.shared_bytes) + " bytes of shared memory";
    std::string threads = std::to_string(config.block[0]);
    if (config.block[1] * config.block[2] > 1)
      threads += " x " + std::to_string(config.block[1]) + " x " + std::to_string(config.block[2]);
    std::fprintf(stderr, "fake driver: %u x %u x %u blocks of %s threads%s\n", config.grid[0],
                 config.grid[1], config.grid[2], threads.c_str(), more.c_str());
  }
  return Wants("refuse") ? kOutOfResources : 0;
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (Wants("full") && bytes > 1024) return kOutOfMemory;
  *address = reinterpret_cast<uint64_t>(std::calloc(bytes, 1));
  ++ledger.alive["blocks of memory"];
  return 0;
}
int cuMemFree_v2(uint64_t address) { return Destroy(Host(address), "blocks of memory"); }
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = *total = 1024;
  return 0;
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  ++ledger.alive["blocks of host memory"];
  return 0;
}
int cuMemFreeHost(void* memory) { return Destroy(memory, "blocks of host memory"); }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void*) {
  std::memcpy(Host(to), from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void*) {
  std::memcpy(to, Host(from), bytes);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  std::memmove(Host(to), Host(from), bytes);
  return 0;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void*) {
  std::memset(Host(to), value, bytes);
  return 0;
}
int cuStreamCreate(void** stream, unsigned) { return Make(stream, "streams"); }
int cuStreamQuery(void*) { return 0; }
int cuStreamSynchronize(void*) { return launched && Wants("fault") ? kIllegalAddress : 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
// Streams are done with everything at once, so what waits on one for the host waits in vain.
int cuLaunchHostFunc(void*, void (*)(void*), void*) { return 0; }
int cuStreamDestroy_v2(void* stream) { return Destroy(stream, "streams"); }
// Graphs are what was launched while they were made: nothing more.
int cuStreamBeginCapture_v2(void*, int) { return 0; }
int cuStreamEndCapture(void*, void** graph) { return Make(graph, "graphs"); }
int cuGraphInstantiateWithFlags(void** executable, void*, unsigned long long) {
  return Make(executable, "graph executables");
}
int cuGraphLaunch(void*, void*) { return 0; }
int cuGraphExecDestroy(void* executable) { return Destroy(executable, "graph executables"); }
int cuGraphDestroy(void* graph) { return Destroy(graph, "graphs"); }
int cuEventCreate(void** event, unsigned) { return Make(event, "events"); }
int cuEventRecord(void*, void*) { return 0; }
int cuEventSynchronize(void*) { return launched && Wants("fault") ? kIllegalAddress : 0; }
int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 0.25f;
  return 0;
}
int cuEventDestroy_v2(void* event) { return Destroy(event, "events"); }

}  // extern "C"
