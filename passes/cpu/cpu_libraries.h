// What the libraries that XLA:CPU hands whole fusions to compute, as tables: which operations, on
// which types, in which layouts, and around which operations a fusion may begin.
//
//   library   fusions of kind   operations
//   YNNPACK   __ynn_fusion      products, convolutions of images, sums and extrema, functions of
//                               elements, and what moves elements between them
//   oneDNN    __onednn_fusion   products, add, multiply, exponential
//
// The rules are those of jaxlib 0.10.2.
#pragma once

#include <string_view>

#include "lib/ir/instruction.h"
#include "lib/support/decision.h"
#include "passes/cpu/library_fusion_types.h"

namespace hlo {

// What the processor can do, as far as a library decides by it.
struct CpuFeatures {
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
};

struct CpuLibrary {
  std::string_view fusion_name;
  std::string_view fusion_kind;  // in the backend config
  // Whether the library computes it.
  Decision (*takes)(const Instruction& instruction, const CpuFeatures& features);
  // Whether a fusion begins with it, if the library computes it.
  bool (*begins)(const Instruction& instruction, LibraryFusionTypes types);
};

extern const CpuLibrary kOneDnn;
extern const CpuLibrary kYnnPack;

}  // namespace hlo
