#include "tools/fuzz/xla_differences.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/region.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/types/memory_order.h"

namespace hlo {
namespace {

// Whether it is a custom call of a target with one of these words in its name.
bool Calls(const Instruction& instruction, std::initializer_list<std::string_view> words) {
  if (instruction.opcode() != Opcode::kCustomCall) return false;
  const std::string_view target = instruction.attrs<CustomCallAttrs>().custom_call_target;
  return absl::c_any_of(
      words, [&](std::string_view word) { return target.find(word) != std::string_view::npos; });
}

struct Difference {
  std::string_view reason;
  bool (*shows)(const Instruction& instruction);
};

constexpr Difference kDifferences[] = {
    {"XLA:CPU reads the kernel of a dgrad forwards, XLA:GPU backwards; here it is read backwards",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kConvolution &&
              instruction.attrs<ConvolutionAttrs>().convolution_kind == ConvolutionKind::kDgrad;
     }},
    {"XLA takes the initial value of a reduction for one that changes nothing, and leaves it out "
     "or "
     "adds it several times",
     [](const Instruction& instruction) {
       if (!kReduceOps.Has(instruction.opcode())) return false;
       const std::optional<Opcode> combiner = CombinerOpcode(*instruction.to_apply());
       return !combiner ||
              !IsIdentityOf(*combiner, *instruction.operand(instruction.operand_count() / 2));
     }},
    {"XLA rounds sums of floats below 16 bits at each step; here they are rounded once",
     [](const Instruction& instruction) {
       const ElementType type =
           instruction.shape().IsArray() ? instruction.shape().element_type() : ElementType::kF32;
       return instruction.opcode() == Opcode::kReduce && IsFloat(type) && BitWidth(type) < 16;
     }},
    {"a bitcast between layouts has no form in StableHLO",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kBitcast &&
              !KeepsRowMajorOrder(instruction.operand(0)->shape(), instruction.shape());
     }},
    {"XLA:CPU reads the padding of a convolution inside a fusion",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kConvolution && instruction.parent()->is_fusion();
     }},
    {"XLA:CPU reads beyond the input of a convolution that is cut in front and padded at the end",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kConvolution &&
              absl::c_any_of(
                  instruction.attrs<ConvolutionAttrs>().window.dims,
                  [](const WindowDim& dim) { return dim.pad_low < 0 && dim.pad_high > 0; });
     }},
    {"XLA:CPU returns memory that nobody wrote for a transform of length 0",
     [](const Instruction& instruction) {
       if (instruction.opcode() != Opcode::kFft) return false;
       const DimVec& lengths = instruction.attrs<FftAttrs>().fft_length;
       return absl::c_linear_search(lengths, 0);
     }},
    {"XLA's evaluator says 0 for -1 to a negative power, its code -1 or 1; its code reads six bits "
     "of the exponent",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kPower &&
              IsInteger(instruction.shape().element_type());
     }},
    {"XLA:CPU computes atan2(x, x) at 0 as NaN where it knows x",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kAtan2 &&
              instruction.operand(0) == instruction.operand(1);
     }},
    {"complex atan2 has a cut, and a zero there whose sign is rounded away",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kAtan2 &&
              IsComplex(instruction.shape().element_type());
     }},
    {"XLA counts the ones of a whole byte in negative numbers narrower than it",
     [](const Instruction& instruction) {
       const ElementType type = instruction.shape().element_type();
       return instruction.opcode() == Opcode::kPopcnt && IsSigned(type) && IsSubByte(type);
     }},
    {"XLA folds count-leading-zeros of negative constants to negative numbers",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kClz && IsSigned(instruction.shape().element_type());
     }},
    {"XLA's evaluator gives the region of a select-and-scatter the new element first, its code "
     "last",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kSelectAndScatter &&
              !CombinerOpcode(*instruction.call(1));
     }},
    {"XLA:CPU returns memory that nobody wrote where nothing is selected",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kSelectAndScatter &&
              instruction.operand(1)->shape().IsZeroSized();
     }},
    {"XLA:CPU leaves results of a fusion unwritten where one of them is a parameter",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kParameter && instruction.parent()->is_fusion() &&
              absl::c_any_of(instruction.uses(), [](const Use& use) {
                return use.user->is_root() && use.user->opcode() == Opcode::kTuple;
              });
     }},
    {"beyond the part in use of a dynamic array lies what was there before; here zeros",
     [](const Instruction& instruction) {
       constexpr OpcodeSet kTakesPart = {Opcode::kSlice, Opcode::kDynamicSlice, Opcode::kGather};
       return kTakesPart.Has(instruction.opcode()) &&
              instruction.operand(0)->shape().has_dynamic_dims();
     }},
    {"XLA folds clamps of predicates to their upper bound",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kClamp && IsPred(instruction.shape().element_type());
     }},
    {"XLA drops updates whose index vectors have no elements, though each has its place",
     [](const Instruction& instruction) {
       if (instruction.opcode() != Opcode::kScatter) return false;
       const int indices = instruction.operand_count() / 2;
       return instruction.operand(indices)->shape().IsZeroSized();
     }},
    {"XLA:CPU reads numbers narrower than a byte from a byte each when it takes wider ones apart",
     [](const Instruction& instruction) {
       if (instruction.opcode() != Opcode::kBitcastConvert) return false;
       const ElementType from = instruction.operand(0)->shape().element_type();
       const ElementType to = instruction.shape().element_type();
       return IsSubByte(from) != IsSubByte(to);
     }},
    {"XLA:CPU's TopK takes matrices only and leaves the rest unwritten",
     [](const Instruction& instruction) {
       return Calls(instruction, {"TopK"}) && instruction.operand(0)->shape().rank() > 2;
     }},
    {"vectors of eigen- and singular value problems are free up to a sign or phase",
     [](const Instruction& instruction) {
       return Calls(instruction, {"gesdd", "gesvd", "syevd", "heevd", "geev", "gees", "Eigh"});
     }},
    {"the numbers of `rng` depend on the generator",
     [](const Instruction& instruction) { return instruction.opcode() == Opcode::kRng; }},
    {"a size set anew shows what lies in the room; here it shows zeros",
     [](const Instruction& instruction) {
       return instruction.opcode() == Opcode::kSetDimensionSize &&
              instruction.operand(0)->shape().has_dynamic_dims();
     }},
    {"jaxlib hands out the room of a dynamic array, not the part in use",
     [](const Instruction& instruction) {
       return instruction.is_root() && instruction.parent()->is_entry() &&
              instruction.shape().has_dynamic_dims();
     }},
};

}  // namespace

std::string_view KnownXlaDifference(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Difference& difference : kDifferences) {
        if (difference.shows(*instruction)) return difference.reason;
      }
    }
  }
  return "";
}

}  // namespace hlo
