#include "backends/cpu/library/host.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

constexpr IsaLevel kLevels[] = {IsaLevel::kSse, IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAmx};

struct Cpuid {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

Cpuid QueryCpuid(uint32_t leaf, uint32_t subleaf) {
  Cpuid r;
#if defined(__x86_64__)
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
#endif
  return r;
}

constexpr bool Bit(uint32_t word, int bit) { return ((word >> bit) & 1) != 0; }

// The register files that the operating system saves on a context switch.
uint64_t EnabledState() {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
#else
  return 0;
#endif
}

// Asks Linux for the right to use the tile registers; needed once per process.
bool RequestTiles() {
#if defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

IsaLevel DetectLevel(Host& host) {
  const Cpuid one = QueryCpuid(1, 0);
  const Cpuid seven = QueryCpuid(7, 0);
  const Cpuid seven_one = QueryCpuid(7, 1);
  const bool os_saves = Bit(one.c, 27);
  const uint64_t state = os_saves ? EnabledState() : 0;
  const bool ymm = (state & 0x6) == 0x6;
  const bool zmm = (state & 0xe6) == 0xe6;
  const bool tiles = (state & 0x60000) == 0x60000;
  const bool avx2 = ymm && Bit(one.c, 28) && Bit(seven.b, 5) && Bit(one.c, 12) && Bit(one.c, 29) &&
                    Bit(seven.b, 3) && Bit(seven.b, 8);
  if (!avx2) return IsaLevel::kSse;
  const bool avx512 = zmm && Bit(seven.b, 16) && Bit(seven.b, 17) && Bit(seven.b, 28) &&
                      Bit(seven.b, 30) && Bit(seven.b, 31);
  if (!avx512) return IsaLevel::kAvx2;
  host.avx512_vnni = Bit(seven.c, 11);
  host.avx512_bf16 = Bit(seven_one.a, 5);
  host.avx512_fp16 = Bit(seven.d, 23);
  const bool amx = tiles && Bit(seven.d, 22) && Bit(seven.d, 24) && Bit(seven.d, 25) &&
                   host.avx512_vnni && host.avx512_bf16 && RequestTiles();
  return amx ? IsaLevel::kAmx : IsaLevel::kAvx512;
}

int CountProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count < 1 ? 1 : count;
}

int64_t CacheBytes(int name, int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

}  // namespace

std::string_view IsaName(IsaLevel level) {
  switch (level) {
    case IsaLevel::kSse: return "sse";
    case IsaLevel::kAvx2: return "avx2";
    case IsaLevel::kAvx512: return "avx512";
    case IsaLevel::kAmx: return "amx";
  }
  return "";
}

int Host::vector_bytes() const {
  switch (level) {
    case IsaLevel::kSse: return 16;
    case IsaLevel::kAvx2: return 32;
    case IsaLevel::kAvx512:
    case IsaLevel::kAmx: return 64;
  }
  return 16;
}

std::string Host::llvm_cpu() const {
  switch (level) {
    case IsaLevel::kSse: return "x86-64-v2";
    case IsaLevel::kAvx2: return "x86-64-v3";
    case IsaLevel::kAvx512:
    case IsaLevel::kAmx: return "x86-64-v4";
  }
  return "x86-64";
}

std::string Host::llvm_features() const {
  if (level < IsaLevel::kAvx512) return "";
  std::string features = "-prefer-256-bit";
  if (avx512_vnni) features += ",+avx512vnni";
  if (avx512_bf16) features += ",+avx512bf16";
  if (avx512_fp16) features += ",+avx512fp16";
  return features;
}

std::string Host::ToString() const {
  return fmt::format("{}, {} processor{}, L2 {} KiB", IsaName(level), processors,
                     processors == 1 ? "" : "s", l2_bytes >> 10);
}

absl::StatusOr<Host> DetectHost(std::string_view mask) {
  Host host;
  host.level = DetectLevel(host);
  host.processors = CountProcessors();
  host.l1_bytes = CacheBytes(_SC_LEVEL1_DCACHE_SIZE, host.l1_bytes);
  host.l2_bytes = CacheBytes(_SC_LEVEL2_CACHE_SIZE, host.l2_bytes);
  host.l3_bytes = CacheBytes(_SC_LEVEL3_CACHE_SIZE, host.l3_bytes);
  if (mask.empty() || mask == "native") return host;
  const bool is_bound = mask.starts_with("<=");
  if (is_bound) mask.remove_prefix(2);
  for (const IsaLevel level : kLevels) {
    if (mask != IsaName(level)) continue;
    if (is_bound && level > host.level) return host;
    if (level > host.level) {
      return Error("`--cpu-features={}` asks for more than this machine has: `{}`", mask,
                   IsaName(host.level));
    }
    host.level = level;
    if (level < IsaLevel::kAvx512) {
      host.avx512_vnni = host.avx512_bf16 = host.avx512_fp16 = false;
    }
    return host;
  }
  return Error(
      "unknown value `{}` of `--cpu-features`, expected `native`, `sse`, `avx2`, `avx512` or `amx`",
      mask);
}

}  // namespace hlo::cpu
