// backends/cpu/library/sort.h
//
// Sorting along one dimension by one key, and top-k. For comparators that are a plain ordering of
// the key; everything else needs a compiled comparator.
//
// Always stable: equal keys keep their order, and operands other than the key follow it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/support/thread_pool.h"
#include "lib/types/element_type.h"

namespace hlo::cpu {

// How floats compare. Integers and pred have one order only.
enum class FloatOrder {
  kTotal,      // -NaN < -inf < … < -0 < +0 < … < inf < NaN
  kCanonical,  // -0 equals +0, all NaNs are equal and greater than everything
};

// Operands are arrays [outer, size, inner], row-major, all of these sizes; operand `key` decides.
struct SortSpec {
  int64_t outer = 1;
  int64_t size = 0;  // the sorted dimension
  int64_t inner = 1;
  absl::InlinedVector<ElementType, 2> operands;
  int key = 0;
  bool descending = false;
  FloatOrder order = FloatOrder::kTotal;
  int threads = 1;
};

class SortKernel {
 public:
  virtual ~SortKernel() = default;
  virtual int64_t scratch_bytes() const = 0;
  // inputs[i] and outputs[i] may be the same memory.
  virtual void Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch, ThreadPool& pool) const = 0;
};

// Complex keys are Unsupported (they have no order).
absl::StatusOr<std::unique_ptr<SortKernel>> MakeSort(const SortSpec& spec);

// The k greatest elements of each row of [rows, size] in descending order of the total order, and
// their positions; of equal elements the first ones.
struct TopKSpec {
  ElementType type = ElementType::kF32;
  int64_t rows = 1;
  int64_t size = 0;
  int64_t k = 0;
  bool largest = true;  // else the k least, ascending
  int threads = 1;
};

class TopKKernel {
 public:
  virtual ~TopKKernel() = default;
  virtual int64_t scratch_bytes() const = 0;
  virtual void Run(const void* input, void* values, int32_t* indices, void* scratch,
                   ThreadPool& pool) const = 0;
};

absl::StatusOr<std::unique_ptr<TopKKernel>> MakeTopK(const TopKSpec& spec);

}  // namespace hlo::cpu
