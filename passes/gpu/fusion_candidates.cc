#include "passes/gpu/fusion_candidates.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/ir/computation.h"
#include "lib/support/contains.h"
#include "passes/fusion/fusion_questions.h"
#include "passes/fusion/in_place_update.h"
#include "passes/fusion/index_evaluation.h"
#include "passes/util/plain_fusion.h"

namespace hlo {
namespace {

constexpr double kMostEmitted = 10000;

constexpr Opcode kPartsOfKernels[] = {
    Opcode::kBroadcast, Opcode::kConcatenate,  Opcode::kConstant,
    Opcode::kCopy,      Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice,
    Opcode::kGather,    Opcode::kIota,         Opcode::kMap,
    Opcode::kPad,       Opcode::kReduce,       Opcode::kReduceWindow,
    Opcode::kReshape,   Opcode::kReverse,      Opcode::kScatter,
    Opcode::kSlice,     Opcode::kTranspose};

bool EndsWithScatter(const Instruction& x) {
  return x.opcode() == Opcode::kScatter ||
         (x.IsFusion() && x.fused_computation()->root()->opcode() == Opcode::kScatter);
}

// How often the value of an operand is read inside of a fusion.
int ReadersInside(const Instruction& fusion, const Instruction& operand) {
  int readers = 0;
  for (int i = 0; i < fusion.operand_count(); ++i) {
    if (fusion.operand(i) == &operand)
      readers += fusion.fused_computation()->parameter(i)->use_count();
  }
  return readers;
}

bool HaveCommon(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return absl::c_any_of(a, [&](int64_t id) { return absl::c_binary_search(b, id); });
}

// Whether an operation that makes an emitter forget what it has computed would be emitted twice.
bool RepeatsForgetful(const Instruction& consumer, const KernelModel& of_consumer,
                      const Instruction& producer, const KernelModel& of_producer) {
  if (of_producer.work.forgetful().empty() || !consumer.IsFusion()) return false;
  if (of_consumer.work.ReadOf(producer)->copies > 1) return true;
  const bool ends_with_one =
      producer.IsFusion() && IsForgetful(producer.fused_computation()->root()->opcode());
  return (ends_with_one && ReadersInside(consumer, producer) > 1) ||
         HaveCommon(of_producer.work.forgetful(), of_consumer.work.forgetful());
}

// Warps reduce where an output is the reduction, or is computed from it alone.
bool LosesReduction(const KernelModel& of_consumer, const Instruction& producer,
                    const KernelModel& of_producer) {
  if (of_producer.kind != KernelKind::kReduction) return false;
  KernelShape both = of_consumer.shape;
  both.TakeIn(producer, of_producer.shape);
  return both.kind() == KernelKind::kLoop;
}

// Several outputs, one of which is updated in place: others may read what is written.
bool UpdatesOneOfSeveral(const Instruction& kernel) {
  return kernel.IsFusion() && kernel.shape().IsTuple() && UpdatesInPlace(kernel);
}

}  // namespace

bool IsFusibleBitcast(const Instruction& x) {
  return x.opcode() == Opcode::kBitcast &&
         BitWidth(x.shape().element_type()) == BitWidth(x.operand(0)->shape().element_type());
}

bool CanBeInKernel(const Instruction& x) {
  if (!CanBeFused(x)) return false;
  if (x.IsFusion()) return IsPlainFusion(x);
  if (x.opcode() == Opcode::kBitcastConvert)
    return SameDimensions(x.shape(), x.operand(0)->shape());
  return HasTrait(x.opcode(), kElementwise) || IsFusibleBitcast(x) ||
         Contains(kPartsOfKernels, x.opcode());
}

Decision KeepsScatter(const Instruction& producer, const Instruction& consumer) {
  if (EndsWithScatter(producer)) return No("it scatters");
  if (!EndsWithScatter(consumer)) return Yes();
  const Instruction* scatter = &consumer;
  if (consumer.IsFusion()) scatter = consumer.fused_computation()->root();
  for (int i = 0; i < scatter->operand_count() / 2; ++i) {
    const Instruction* array = scatter->operand(i);
    if (consumer.IsFusion()) {
      if (array->opcode() != Opcode::kParameter)
        return No("`{}` copies its array", consumer.name());
      array = consumer.operand(static_cast<int>(array->parameter_number()));
    }
    if (array == &producer) return No("`{}` updates it", consumer.name());
    if (Contains(producer.operand_vector(), array))
      return No("it reads what `{}` updates", consumer.name());
  }
  return Yes();
}

Decision IsSmallEnough(const Instruction& consumer, const KernelModel& of_consumer,
                       const Instruction& producer, const KernelModel& of_producer) {
  if (RepeatsForgetful(consumer, of_consumer, producer, of_producer))
    return No("`{}` would be emitted several times in `{}`", producer.name(), consumer.name());
  const double copies = consumer.IsFusion() ? of_consumer.work.ReadOf(producer)->copies : 1;
  const double size = of_producer.emitted_size * copies + of_consumer.emitted_size;
  return size > kMostEmitted ? No("`{}` would be emitted as {} instructions", consumer.name(), size)
                             : Yes();
}

Decision CanTakeIn(const Instruction& consumer, const KernelModel& of_consumer,
                   const Instruction& producer, const KernelModel& of_producer) {
  if (!consumer.is_used()) return No("nobody reads `{}`", consumer.name());
  if (IsFusibleBitcast(consumer)) return No("`{}` is a bitcast", consumer.name());
  if (Decision keeps = KeepsScatter(producer, consumer); !keeps) return keeps;
  if (of_producer.work.reduces() && of_consumer.work.reduces())
    return No("it and `{}` reduce", consumer.name());
  if (LosesReduction(of_consumer, producer, of_producer))
    return No("`{}` would compute a reduction in a loop", consumer.name());
  if (Decision fits = FitInOneKernel(consumer, of_consumer.needs, producer, of_producer.needs,
                                     /*a_reads_b=*/true);
      !fits)
    return fits;
  if (Decision small = IsSmallEnough(consumer, of_consumer, producer, of_producer); !small)
    return small;
  if (UpdatesOneOfSeveral(consumer)) return No("`{}` updates one of several", consumer.name());
  return KeepsUpdateInPlace(producer, consumer);
}

}  // namespace hlo
