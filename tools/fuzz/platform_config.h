// How one input of mode `platforms` is run: on which platform, with what inputs and flags. Chosen
// by the bytes of the input, unless the input says it in a line `// CONFIG: …`, so that a reduced
// input keeps what showed its failure.
//
//   // CONFIG: platform=cpu threads=2 features=avx2 inputs=7 indices=any kernels=evaluate checks=none
//
// `passes=…` is what is run before it is compiled, which gives it the form of a dump: scheduled,
// with layouts, with fusions of another compiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/backend.h"

namespace hlo {

struct PlatformConfig {
  std::string platform = "cpu";
  int threads = 1;
  std::string features;      // of the processor; empty: all it has
  uint64_t inputs = 1;       // seed of the arguments
  bool any_indices = false;  // indices may be out of range
  bool verify = false;       // after each pass
  bool evaluate = false;     // kernels of the CPU are run as tile IR
  bool checks = true;        // every access of theirs is checked
  std::string passes;        // a pipeline without blanks

  std::string ToString() const;
  CompileOptions Options() const;
};

// What the command line says for all inputs (`--config`); empty: each input for itself.
void SetPlatformConfig(std::string_view text);
// Every input that does not say otherwise runs on XLA.
void UseXla();
PlatformConfig ConfigFor(std::string_view input);
// The input with a line that says its configuration.
std::string WithConfig(std::string_view input);

}  // namespace hlo
