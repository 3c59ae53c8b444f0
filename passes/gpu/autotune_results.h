// Files of results that XLA's autotuner writes and reads (`AutotuneResults`): which algorithm of a
// library is the fastest for a call, on which device. Binary, or as the text of a protocol buffer:
//
//   version: 3
//   results {
//     device: "CUDA: 9.0, Cores: 132, …"
//     hlo: "(f32[64,64], s8[33554432]) custom-call(f32[64,64], f32[64,64]), custom_call_target=…"
//     result { gemm { algorithm: 7 } }
//   }
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"

namespace hlo {

struct GemmChoice {
  int64_t algorithm = 0;
  int64_t workspace = 0;  // bytes; 0: as it was
};

struct TuningKnob {
  int64_t key = 0;
  int64_t value = 0;
};

struct ConvChoice {
  int64_t algorithm = 0;
  int64_t math_type = 0;  // 0: DEFAULT_MATH, 1: TENSOR_OP_MATH
  std::vector<TuningKnob> knobs;
  bool is_frontend = false;
  std::optional<int64_t> workspace;
};

struct AutotuneEntry {
  std::string device;
  std::string hlo;  // AutotuneKey of the call
  int64_t version = 0;
  int64_t scratch_bytes = 0;
  std::optional<GemmChoice> gemm;
  std::optional<ConvChoice> conv;
};

// Other versions are written by other releases of XLA, whose keys are not these.
inline constexpr int64_t kAutotuneVersion = 3;

struct AutotuneResults {
  int64_t version = kAutotuneVersion;
  std::vector<AutotuneEntry> entries;
};

// Of the bytes of a file, called `name` in errors, which have a place in a text. Results of other
// kinds than products and convolutions, and times, are left out. Another version is an error, also
// where there is none, which is 0.
absl::StatusOr<AutotuneResults> ParseAutotuneResults(std::string_view bytes, std::string_view name);
enum class AutotuneForm { kBinary, kText };
std::string PrintAutotuneResults(const AutotuneResults& results, AutotuneForm form);

// Read and written whole; a name that ends in `.txt`, `.textproto`, `.pbtxt` or `.prototxt` is a
// text's.
absl::StatusOr<AutotuneResults> ReadAutotuneResults(const std::string& path);
absl::Status WriteAutotuneResults(const AutotuneResults& results, const std::string& path);

// What a call is known by: its text without names, its layouts and backend_config included; as if
// it had this config and shape.
std::string AutotuneKey(Instruction* call, std::string_view config, Shape shape);

// The entry of `key` on `device` (empty: on any), or null.
const AutotuneEntry* FindAutotuneEntry(const AutotuneResults& results, std::string_view device,
                                       std::string_view key);

}  // namespace hlo
