#include "backends/gpu/emit/family.h"

#include <algorithm>

#include "backends/gpu/emit/epilogue.h"
#include "backends/gpu/emit/frame.h"
#include "lib/eval/contraction.h"
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
  const ElementType sum = ProductType(product.operand(0)->shape().element_type(),
                                      product.operand(1)->shape().element_type(), result);
  return sum == result
             ? Yes()
             : No("products of `{}` are cut to `{}` after their sum", Text(sum), Text(result));
}

}  // namespace

Decision IsKernel(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kFusion:
      // Passes decided what is in it (fusion_target.h), but for what only some products can be.
      if (const Instruction* product = ProductOf(instruction)) return IsKernel(*product);
      return Yes();
    case Opcode::kDot:
      for (const Instruction* operand : instruction.operands()) {
        if (operand->shape().has_dynamic_dims()) return No("an operand has dynamic dimensions");
      }
      if (instruction.operand_count() != 2) return No("a dot has sparse operands");
      return SumsInOneKind(instruction);
    case Opcode::kScaledDot: return CanScale(instruction);
    case Opcode::kRaggedDot:
      for (const Instruction* operand : instruction.operands()) {
        if (operand->shape().has_dynamic_dims()) return No("an operand has dynamic dimensions");
      }
      return Yes();
    case Opcode::kCustomCall: return IsCopyOfOperand(instruction);
    case Opcode::kStochasticConvert: return CanRoundAtRandom(instruction);
    case Opcode::kConvolution:
      if (instruction.operand_count() != 2) return No("an operand is sparse");
      if (instruction.shape().has_dynamic_dims()) return No("the result has dynamic dimensions");
      return SumsInOneKind(instruction);
    case Opcode::kSort:
      if (!IsScalarRegion(*instruction.to_apply()))
        return No("the comparator is more than scalar arithmetic");
      for (const Instruction* operand : instruction.operands()) {
        if (operand->shape().has_dynamic_dims()) return No("an operand has dynamic dimensions");
      }
      return Yes();
    case Opcode::kBitcastConvert: {
      const Shape operand = instruction.operand(0)->shape();
      const auto has_pieces = [](Shape shape) {
        const ElementType type = shape.element_type();
        return !shape.has_dynamic_dims() && !IsComplex(type) && !IsPred(type) &&
               BitWidth(type) >= 8;
      };
      if (has_pieces(operand) && has_pieces(instruction.shape())) return Yes();
      return IsKernelOp(instruction);
    }
    case Opcode::kTopK:
      return IsComplex(instruction.operand(0)->shape().element_type()) ||
                     instruction.shape().has_dynamic_dims()
                 ? No("it sorts {}", instruction.operand(0)->shape())
                 : Yes();
    case Opcode::kRngBitGenerator: return CanMakeBits(instruction);
    case Opcode::kRng: return CanDraw(instruction);
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kReplicaId:
    case Opcode::kPartitionId: return Yes();
    case Opcode::kFft: return CanTransform(instruction);
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve: return CanSolve(instruction);
    case Opcode::kScan: return CanScan(instruction);
    case Opcode::kGetDimensionSize:
      return instruction.operand(0)->shape().has_dynamic_dims()
                 ? No("the operand has dynamic dimensions")
                 : Yes();
    default:
      return HasTrait(instruction.opcode(), kCollective) ? CanRunAlone(instruction)
                                                         : IsKernelOp(instruction);
  }
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
  bool done = true;
  switch (root->opcode()) {
    case Opcode::kScaledDot:
    case Opcode::kDot: RETURN_IF_ERROR(EmitDot(*root, frame, plan)); break;
    case Opcode::kRaggedDot: RETURN_IF_ERROR(EmitRaggedDot(*root, frame, plan)); break;
    case Opcode::kConvolution: RETURN_IF_ERROR(EmitConvolution(*root, frame, plan)); break;
    case Opcode::kSort: RETURN_IF_ERROR(EmitSort(*root, frame, plan)); break;
    case Opcode::kTopK: RETURN_IF_ERROR(EmitTopK(*root, frame, plan)); break;
    case Opcode::kRngBitGenerator: RETURN_IF_ERROR(EmitRngBitGenerator(*root, frame, plan)); break;
    case Opcode::kCustomCall: AddCopy(0, frame.operand_buffers, plan); break;
    case Opcode::kRng: RETURN_IF_ERROR(EmitRng(*root, frame, plan)); break;
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kReplicaId:
    case Opcode::kPartitionId: RETURN_IF_ERROR(EmitLateNumber(*root, frame, plan)); break;
    case Opcode::kFft: RETURN_IF_ERROR(EmitFft(*root, frame, plan)); break;
    case Opcode::kCholesky: RETURN_IF_ERROR(EmitCholesky(*root, frame, plan)); break;
    case Opcode::kTriangularSolve: RETURN_IF_ERROR(EmitTriangularSolve(*root, frame, plan)); break;
    case Opcode::kScan: RETURN_IF_ERROR(EmitScan(*root, frame, plan)); break;
    case Opcode::kReduceWindow: {
      ASSIGN_OR_RETURN(done, EmitCumulative(instruction, frame, plan));
      break;
    }
    case Opcode::kScatter:
      RETURN_IF_ERROR(
          EmitScatter(instruction, SharesWanted(instruction, options.shared), frame, plan));
      break;
    case Opcode::kTranspose: {
      ASSIGN_OR_RETURN(done, EmitTranspose(instruction, frame, plan));
      break;
    }
    case Opcode::kDynamicUpdateSlice:
      done = SharesWanted(instruction, options.shared);
      if (done) RETURN_IF_ERROR(EmitUpdateInPlace(instruction, frame, plan));
      break;
    default:
      done = HasTrait(root->opcode(), kCollective);
      if (done) RETURN_IF_ERROR(EmitAlone(*root, frame, plan));
      break;
  }
  if (done) return plan;
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
  return plan;
}

}  // namespace hlo::gpu
