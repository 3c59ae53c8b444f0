// backends/cpu/library/convert.h
//
// Element-by-element conversion of strided blocks, for operands whose element type has no kernel of
// its own. Correct for every array type; not fast.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "lib/types/element_type.h"

namespace hlo::cpu {

// Which component of a complex element to take or set; real elements have only a real one.
enum class Component { kReal, kImaginary };

// Walks a block of the given sizes, row-major over `sizes`, with one stride per dimension.
struct StridedBlock {
  absl::Span<const int64_t> sizes;
  absl::Span<const int64_t> strides;
};

// Reads the block at `source` into consecutive elements of T: float, double, uint32_t or uint64_t.
// Integers become numbers of the float type `through` first; floats keep their digits where it is
// narrower (lib/eval/contraction.h).
template <class T>
void ReadBlock(ElementType type, ElementType through, Component component, const void* source,
               const StridedBlock& block, T* destination);

// Writes consecutive elements of T to the block: one rounding for floats, the low bits for
// integers, "not zero" for pred. For complex types only the component is written.
template <class T>
void WriteBlock(const T* source, ElementType type, Component component, const StridedBlock& block,
                void* destination);

}  // namespace hlo::cpu
