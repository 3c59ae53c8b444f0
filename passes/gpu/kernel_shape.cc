#include "passes/gpu/kernel_shape.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "lib/support/contains.h"
#include "lib/support/round.h"
#include "passes/gpu/kernel_work.h"
#include "passes/gpu/op_cycles.h"

namespace hlo {
namespace {

constexpr int64_t kLoopThreads = 4 * kThreadsOfWarp;  // of a block
constexpr int64_t kTileElements = kThreadsOfWarp * kThreadsOfWarp;
constexpr int64_t kMostPerThread = 4;
// Of a reduction of rows: elements that a thread adds up, threads of a block.
constexpr int64_t kReducedPerThread = 16;
constexpr int64_t kLeastRowThreads = 256;
constexpr int64_t kMostRowThreads = 1024;
constexpr int64_t kColumnThreads = kThreadsOfWarp * kThreadsOfWarp;
// More arrays have too much code for a kernel that loops over each of them.
constexpr int kMostConcatenated = 4;

Grid LoopOver(int64_t elements) {
  return {std::max<int64_t>(1, CeilDiv(elements, kLoopThreads)), kLoopThreads};
}

int64_t PerThread(int64_t elements) {
  for (int64_t per_thread = kMostPerThread; per_thread > 1; per_thread /= 2) {
    if (elements % per_thread == 0) return per_thread;
  }
  return 1;
}

// A block reduces a row, or several that are short.
Grid RowGrid(const ReductionShape& shape) {
  const int64_t rows = shape.sizes[1], length = shape.sizes[2];
  const int64_t wanted = length < kThreadsOfWarp
                             ? length
                             : RoundUp(CeilDiv(length, kReducedPerThread), kThreadsOfWarp);
  const int64_t for_row = std::clamp<int64_t>(wanted, 1, kMostRowThreads);
  const int64_t rows_of_block = std::max<int64_t>(1, kLeastRowThreads / for_row);
  return {std::max<int64_t>(1, CeilDiv(rows, rows_of_block)), for_row * rows_of_block};
}

// A block reduces a warp of columns.
Grid ColumnGrid(const ReductionShape& shape) {
  const int64_t parts = CeilDiv(shape.sizes[1], RaceFreeBound(shape));
  const int64_t blocks = shape.sizes[0] * CeilDiv(shape.sizes[2], kThreadsOfWarp) * parts;
  return {std::max<int64_t>(1, blocks), kColumnThreads};
}

}  // namespace

template <class T>
void KernelShape::Only<T>::Add(const Only& other) {
  if (!other.found) return;
  is_several |= other.is_several || (found && *found != *other.found);
  found = other.found;
}

KernelShape::KernelShape(const Instruction& kernel) {
  for (const Instruction* output : OutputsOf(kernel)) outputs_.push_back(OutputOf(kernel, *output));
}

KernelShape::Output KernelShape::OutputOf(const Instruction& kernel, const Instruction& output) {
  // Outside of the kernel, or a parameter: the operand of the kernel. Null inside.
  const auto outside = [&kernel](const Instruction& reader, int i) -> const Instruction* {
    if (&reader == &kernel) return kernel.operand(i);
    const Instruction& operand = *reader.operand(i);
    return operand.opcode() == Opcode::kParameter
               ? kernel.operand(static_cast<int>(operand.parameter_number()))
               : nullptr;
  };
  Output result{.shape = FirstArray(output.shape()),
                .is_scatter = output.opcode() == Opcode::kScatter};
  if (output.opcode() == Opcode::kParameter) return result;
  const Instruction* last = &output;
  while (last->operand_count() == 1 && IsPassedThrough(*last)) {
    result.chain_from = outside(*last, 0);
    if (result.chain_from != nullptr) break;
    last = last->operand(0);
  }
  if (last->opcode() == Opcode::kReduce && IsFromOrToContiguousDims(*last))
    result.reduction = ReductionShapeOf(*last);
  result.is_reduction = last == &output;

  std::vector<const Instruction*> stack = {&output};
  absl::flat_hash_set<const Instruction*> seen;
  while (!stack.empty()) {
    const Instruction& x = *stack.back();
    stack.pop_back();
    if (!seen.insert(&x).second) continue;
    if (const std::optional<TiledTranspose> transpose = TiledTransposeOf(x)) {
      result.transpose.Add({.found = transpose});
    } else if (x.opcode() == Opcode::kConcatenate) {
      int64_t longest = 0;
      for (const Instruction* operand : x.operands())
        longest = std::max(longest, operand->shape().element_count());
      result.concatenate.Add({.found = Concatenate{x.id(), x.operand_count(), longest}});
    } else if (x.operand_count() > 0 && IsPassedThrough(x)) {
      for (int i = 0; i < x.operand_count(); ++i) {
        const Instruction* const operand = outside(x, i);
        if (operand == nullptr) {
          stack.push_back(x.operand(i));
        } else if (!Contains(result.from, operand)) {
          result.from.push_back(operand);
        }
      }
    }
  }
  return result;
}

// The first output that warps reduce.
const KernelShape::Output* KernelShape::ReducingOutput() const {
  const auto at = absl::c_find_if(outputs_, [](const Output& output) {
    return output.reduction && (output.is_reduction || IsRaceFree(*output.reduction));
  });
  return at == outputs_.end() ? nullptr : &*at;
}

KernelKind KernelShape::kind() const {
  if (ReducingOutput() != nullptr) return KernelKind::kReduction;
  if (absl::c_any_of(outputs_, [](const Output& o) { return o.transpose.get() != nullptr; }))
    return KernelKind::kTranspose;
  if (outputs_.size() != 1) return KernelKind::kLoop;
  if (outputs_[0].is_scatter) return KernelKind::kScatter;
  const Concatenate* const concatenate = outputs_[0].concatenate.get();
  return concatenate != nullptr && concatenate->operands <= kMostConcatenated
             ? KernelKind::kConcatenate
             : KernelKind::kLoop;
}

Grid KernelShape::GridOn(const GpuDevice& device, bool is_hard_to_unroll) const {
  if (outputs_.empty() || !outputs_[0].shape.IsArray()) return {};
  int64_t elements = outputs_[0].shape.element_count();
  const KernelKind kind = this->kind();
  if (kind == KernelKind::kReduction) {
    const ReductionShape& shape = *ReducingOutput()->reduction;
    return shape.is_row ? RowGrid(shape) : ColumnGrid(shape);
  }
  if (kind == KernelKind::kTranspose)
    return {std::max<int64_t>(1, CeilDiv(elements, kTileElements)), kLoopThreads};
  if (kind == KernelKind::kConcatenate) elements = outputs_[0].concatenate.get()->longest;
  const bool fills_device = elements >= device.threads * device.multiprocessors;
  return LoopOver(CeilDiv(elements, fills_device && !is_hard_to_unroll ? PerThread(elements) : 1));
}

bool KernelShape::MayChangeWith(const Instruction& producer, const KernelShape& of_producer) const {
  const Output& source = of_producer.outputs_[0];
  const bool has_hero = source.reduction || source.transpose.found || source.concatenate.found;
  return has_hero && absl::c_any_of(outputs_, [&](const Output& output) {
           return output.chain_from == &producer || Contains(output.from, &producer);
         });
}

void KernelShape::TakeIn(const Instruction& producer, const KernelShape& of_producer) {
  const Output& source = of_producer.outputs_[0];
  for (Output& output : outputs_) {
    if (output.chain_from == &producer) {
      output.chain_from = source.chain_from;
      output.reduction = source.reduction;
    }
    const auto at = absl::c_find(output.from, &producer);
    if (at == output.from.end()) continue;
    output.from.erase(at);
    for (const Instruction* operand : source.from) {
      if (!Contains(output.from, operand)) output.from.push_back(operand);
    }
    output.transpose.Add(source.transpose);
    output.concatenate.Add(source.concatenate);
  }
}

void KernelShape::Rename(const Instruction& operand, const Instruction& newer) {
  for (Output& output : outputs_) {
    if (output.chain_from == &operand) output.chain_from = &newer;
    absl::c_replace(output.from, &operand, &newer);
  }
}

}  // namespace hlo
