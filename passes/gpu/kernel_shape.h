// How a kernel of a GPU walks over memory, in a form of which that of a kernel that has taken in
// another one follows without a look at either body.
//
// The heroes are those of shared_kernels.h: what is found from an output on, through operations
// that keep places. Where that way leads out of the kernel to an operand, and the kernel takes in
// what makes the operand, it goes on there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/gpu/gpu_device.h"
#include "passes/gpu/reduction_shape.h"
#include "passes/gpu/shared_kernels.h"

namespace hlo {

enum class KernelKind : uint8_t { kLoop, kReduction, kTranspose, kConcatenate, kScatter };

// What a kernel is launched with.
struct Grid {
  int64_t blocks = 1;
  int64_t threads = 128;  // of a block
};

class KernelShape {
 public:
  explicit KernelShape(const Instruction& kernel);

  KernelKind kind() const;
  // That of loops depends on whether threads can compute several elements.
  Grid GridOn(const GpuDevice& device, bool is_hard_to_unroll) const;

  // Whether the kernel may walk in another way when it computes its operand `producer` itself.
  bool MayChangeWith(const Instruction& producer, const KernelShape& of_producer) const;
  // `of_producer` is of one output.
  void TakeIn(const Instruction& producer, const KernelShape& of_producer);
  void Rename(const Instruction& operand, const Instruction& newer);

 private:
  struct Concatenate {
    uint32_t id = 0;  // before fusing
    int operands = 0;
    int64_t longest = 0;  // elements of an operand
    friend bool operator==(const Concatenate&, const Concatenate&) = default;
  };
  // A hero that an output has if no other is found.
  template <class T>
  struct Only {
    std::optional<T> found;
    bool is_several = false;
    void Add(const Only& other);
    const T* get() const { return found && !is_several ? &*found : nullptr; }
  };
  struct Output {
    Shape shape;
    bool is_scatter = false;
    // The reduction by warps that the output is, or is computed from by a chain of operations on
    // one array.
    std::optional<ReductionShape> reduction;
    bool is_reduction = false;
    const Instruction* chain_from = nullptr;  // the operand at the end of that chain, or null
    std::vector<const Instruction*> from;     // operands that are reached at all
    Only<TiledTranspose> transpose;
    Only<Concatenate> concatenate;
  };
  static Output OutputOf(const Instruction& kernel, const Instruction& output);
  const Output* ReducingOutput() const;

  std::vector<Output> outputs_;
};

}  // namespace hlo
