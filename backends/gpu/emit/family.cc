#include "backends/gpu/emit/family.h"

#include <algorithm>
#include <iterator>

#include "backends/gpu/emit/epilogue.h"
#include "backends/gpu/emit/frame.h"
#include "lib/eval/contraction.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/status.h"
#include "passes/fusion/fusion_target.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

bool HasBody(const Frame& frame, Opcode opcode) {
  return std::any_of(frame.body.begin(), frame.body.end(),
                     [opcode](const Instruction* i) { return i->opcode() == opcode; });
}

// All outputs come from one kernel that computes each element on its own.
bool IsOneLoop(const Frame& frame) {
  // Each group of reductions has a kernel, and what comes after them is in it.
  if (frame.outputs.size() > 1 && HasBody(frame, Opcode::kReduce)) return false;
  for (const KernelOutput& output : frame.outputs) {
    const Opcode op = output.instruction->opcode();
    if (output.shape.element_count() != frame.outputs[0].shape.element_count()) return false;
    if (op == Opcode::kReduce || op == Opcode::kTranspose || op == Opcode::kScatter) return false;
  }
  return true;
}

// result_caster makes it so.
Decision SumsInOneKind(const Instruction& product) {
  const ElementType result = product.shape().element_type();
  const ElementType sum = ProductType(product);
  return sum == result
             ? Yes()
             : No("products of `{}` are cut to `{}` after their sum", Text(sum), Text(result));
}

Decision HasStaticOperands(const Instruction& instruction) {
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().has_dynamic_dims()) return No("an operand has dynamic dimensions");
  }
  return Yes();
}

// ---- which instructions a family takes, of its opcodes ----

Decision TakesAll(const Instruction&) { return Yes(); }

Decision TakesDot(const Instruction& dot) {
  if (const Decision decision = HasStaticOperands(dot); !decision) return decision;
  return dot.operand_count() == 2 ? SumsInOneKind(dot) : No("a dot has sparse operands");
}

Decision TakesConvolution(const Instruction& convolution) {
  if (convolution.operand_count() != 2) return No("an operand is sparse");
  if (convolution.shape().has_dynamic_dims()) return No("the result has dynamic dimensions");
  return SumsInOneKind(convolution);
}

Decision TakesSort(const Instruction& sort) {
  return IsScalarRegion(*sort.to_apply()) ? HasStaticOperands(sort)
                                          : No("the comparator is more than scalar arithmetic");
}

Decision TakesBitcastConvert(const Instruction& convert) {
  const auto has_pieces = [](Shape shape) {
    const ElementType type = shape.element_type();
    return !shape.has_dynamic_dims() && !IsComplex(type) && !IsPred(type) && BitWidth(type) >= 8;
  };
  if (has_pieces(convert.operand(0)->shape()) && has_pieces(convert.shape())) return Yes();
  return IsKernelOp(convert);
}

Decision TakesTopK(const Instruction& topk) {
  const Shape operand = topk.operand(0)->shape();
  if (!IsComplex(operand.element_type()) && !topk.shape().has_dynamic_dims()) return Yes();
  return No("it sorts {}", operand);
}

// dynamic-update-slice into its operand's buffer: only the update's elements are written.
absl::Status EmitUpdateInPlace(const Instruction& fusion, const Frame& frame, KernelPlan& plan) {
  plan.family = "update";
  const Instruction* const root = RootOf(fusion);
  const Instruction* const update = root->operand(1);
  const int64_t count = update->shape().element_count();
  if (count == 0 || root->shape().element_count() == 0) return absl::OkStatus();
  return AddSimpleKernel(
      frame, count, plan, [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
        llvm::Value* const thread =
            k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
        return k.If(k.Less(thread, k.Index(count)), [&]() -> absl::Status {
          const ArrayIndex index = ArrayIndex::Linear(update->shape().dims(), thread);
          ArrayIndex::Positions target = index.positions(k);
          for (int d = 0; d < update->shape().rank(); ++d) {
            const int64_t limit = root->shape().dim(d) - update->shape().dim(d);
            ASSIGN_OR_RETURN(llvm::Value* const start,
                             emitter.ClampedStart(root->operand(2 + d), ArrayIndex(), limit));
            target[static_cast<size_t>(d)] = k.Add(target[static_cast<size_t>(d)], start);
          }
          ASSIGN_OR_RETURN(const Emitted value, emitter.Emit(update, index));
          k.Store(frame.outputs[0].buffer, ArrayIndex::At(root->shape().dims(), target).linear(k),
                  value);
          return absl::OkStatus();
        });
      });
}

// ---- and what emits them ----

struct Request {
  const Instruction& instruction;  // a fusion, or one that counts as a fusion of itself
  const Instruction& root;         // of a fused product the product
  const FamilyOptions& options;
  Frame& frame;
  KernelPlan& plan;
};
// False: not this time, it becomes loops and reductions.
using EmitFamily = absl::StatusOr<bool> (*)(const Request& request);

template <auto kEmit>
absl::StatusOr<bool> Root(const Request& r) {
  RETURN_IF_ERROR(kEmit(r.root, r.frame, r.plan));
  return true;
}
template <auto kEmit>
absl::StatusOr<bool> FusionIfItFits(const Request& r) {
  return kEmit(r.instruction, r.frame, r.plan);
}
absl::StatusOr<bool> Copied(const Request& r) {
  AddCopy(0, r.frame.operand_buffers, r.plan);
  return true;
}
absl::StatusOr<bool> Scattered(const Request& r) {
  RETURN_IF_ERROR(
      EmitScatter(r.instruction, SharesWanted(r.instruction, r.options.shared), r.frame, r.plan));
  return true;
}
absl::StatusOr<bool> UpdatedInPlace(const Request& r) {
  if (!SharesWanted(r.instruction, r.options.shared)) return false;
  RETURN_IF_ERROR(EmitUpdateInPlace(r.instruction, r.frame, r.plan));
  return true;
}
absl::StatusOr<bool> AsLoops(const Request&) { return false; }

// By opcode of the root; all others are loops and reductions that IsKernelOp takes.
constexpr struct Family {
  OpcodeSet opcodes;
  Decision (*takes)(const Instruction& instruction);
  EmitFamily emit;
} kFamilies[] = {
    {{Opcode::kDot}, TakesDot, Root<EmitDot>},
    {{Opcode::kScaledDot}, TakesScaledDot, Root<EmitDot>},
    {{Opcode::kRaggedDot}, HasStaticOperands, Root<EmitRaggedDot>},
    {{Opcode::kConvolution}, TakesConvolution, Root<EmitConvolution>},
    {{Opcode::kSort}, TakesSort, Root<EmitSort>},
    {{Opcode::kTopK}, TakesTopK, Root<EmitTopK>},
    {{Opcode::kFft}, TakesFft, Root<EmitFft>},
    {{Opcode::kCholesky}, TakesSolve, Root<EmitCholesky>},
    {{Opcode::kTriangularSolve}, TakesSolve, Root<EmitTriangularSolve>},
    {{Opcode::kScan}, TakesScan, Root<EmitScan>},
    {{Opcode::kRng}, TakesRng, Root<EmitRng>},
    {{Opcode::kRngBitGenerator}, TakesRngBitGenerator, Root<EmitRngBitGenerator>},
    {{Opcode::kRngGetAndUpdateState, Opcode::kReplicaId, Opcode::kPartitionId},
     TakesAll,
     Root<EmitRuntimeNumber>},
    {{Opcode::kCustomCall}, IsCopyOfOperand, Copied},
    {{Opcode::kReduceWindow}, IsKernelOp, FusionIfItFits<EmitCumulative>},
    {{Opcode::kTranspose}, IsKernelOp, FusionIfItFits<EmitTranspose>},
    {{Opcode::kScatter}, IsKernelOp, Scattered},
    {{Opcode::kDynamicUpdateSlice}, IsKernelOp, UpdatedInPlace},
    {{Opcode::kBitcastConvert}, TakesBitcastConvert, AsLoops},
    {{Opcode::kStochasticConvert}, TakesStochasticConvert, AsLoops},
    {{Opcode::kGetDimensionSize}, HasStaticOperands, AsLoops},
};
constexpr Family kCollectiveFamily = {{}, TakesOnOneDevice, Root<EmitOnOneDevice>};
constexpr Family kLoopFamily = {{}, IsKernelOp, AsLoops};

const Family& FamilyOf(Opcode opcode) {
  const auto* const found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies),
                   [opcode](const Family& family) { return family.opcodes.Has(opcode); });
  if (found != std::end(kFamilies)) return *found;
  return HasTrait(opcode, kCollective) ? kCollectiveFamily : kLoopFamily;
}

// Reductions, and loops for what computes each element on its own.
absl::Status EmitLoops(const Instruction& instruction, Frame& frame, KernelPlan& plan) {
  RET_CHECK(!HasBody(frame, Opcode::kScatter), "a scatter inside `{}`", instruction.name());
  std::vector<bool> emitted(frame.outputs.size(), false);
  if (HasBody(frame, Opcode::kReduce)) RETURN_IF_ERROR(EmitReductions(frame, emitted, plan));
  // Others of as many elements share a kernel.
  for (size_t first = 0; first < frame.outputs.size(); ++first) {
    if (emitted[first]) continue;
    std::vector<KernelOutput> group;
    for (size_t o = first; o < frame.outputs.size(); ++o) {
      if (emitted[o] ||
          frame.outputs[o].shape.element_count() != frame.outputs[first].shape.element_count())
        continue;
      emitted[o] = true;
      group.push_back(frame.outputs[o]);
    }
    RETURN_IF_ERROR(EmitLoop(frame, group, plan));
  }
  return absl::OkStatus();
}

}  // namespace

Decision IsKernel(const Instruction& instruction) {
  if (!instruction.IsFusion()) return FamilyOf(instruction.opcode()).takes(instruction);
  // Passes decided what is in it (fusion_target.h), but for what only some products can be.
  if (const Instruction* product = ProductOf(instruction)) return IsKernel(*product);
  return Yes();
}

int LateIntegers(PlanStep::Late late) {
  switch (late) {
    case PlanStep::Late::kNone: return 0;
    case PlanStep::Late::kDraw:
    case PlanStep::Late::kCounter: return 2;
    case PlanStep::Late::kReplicaId:
    case PlanStep::Late::kPartitionId: return 1;
  }
  return 0;
}

BufferPairs InPlacePairs(const Instruction& instruction) {
  if (BufferPairs pairs = WantsToShare(instruction); !pairs.empty()) return pairs;
  const bool is_loop = instruction.IsFusion() || IsFusibleElementwise(instruction);
  if (!is_loop) return {};
  const absl::StatusOr<Frame> frame = MakeFrame(instruction, {});
  if (!frame.ok() || !IsOneLoop(*frame)) return {};
  return SamePlacePairs(instruction);
}

absl::StatusOr<KernelPlan> EmitInstruction(const Instruction& instruction,
                                           const FamilyOptions& options) {
  if (const Decision decision = IsKernel(instruction); !decision) {
    return Unsupported(instruction.loc(), "platform `gpu` cannot run `{}` yet: {}",
                       instruction.opcode_text(), decision.reason());
  }
  KernelPlan plan;
  ASSIGN_OR_RETURN(Frame frame, MakeFrame(instruction, options));
  const Instruction* root = RootOf(instruction);
  if (const Instruction* product = ProductOf(instruction); product != nullptr) root = product;
  const EmitFamily emit = FamilyOf(root->opcode()).emit;
  ASSIGN_OR_RETURN(const bool done, emit({instruction, *root, options, frame, plan}));
  if (!done) RETURN_IF_ERROR(EmitLoops(instruction, frame, plan));
  return plan;
}

}  // namespace hlo::gpu
