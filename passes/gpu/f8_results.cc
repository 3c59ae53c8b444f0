#include "passes/gpu/f8_results.h"

#include <cmath>

namespace hlo {
namespace {

// `value` rounded to `type`, which an inverse is computed in, and then to f32, which a call takes.
float As(ElementType type, double value) {
  return static_cast<float>(Literal::Filled(Shape::Scalar(type), value).GetDouble());
}

bool IsPositive(double value) { return value > 0 && std::isfinite(value); }

}  // namespace

bool CommutesWithRelu(const Instruction& scale) {
  if (!scale.IsConstant() || scale.literal().is_elided() || !IsFloat(scale.shape().element_type()))
    return false;
  const double value = scale.literal().GetDouble();
  return IsPositive(static_cast<float>(value)) &&
         IsPositive(As(scale.shape().element_type(), 1 / value));
}

bool IsClampedTo(const Instruction& clamp, ElementType type) {
  const double most = LargestF8(type);
  const Instruction &low = *clamp.operand(0)->operand(0), &high = *clamp.operand(2)->operand(0);
  return IsLibraryF8(type) && !low.literal().is_elided() && !high.literal().is_elided() &&
         low.literal().GetDouble() == -most && high.literal().GetDouble() == most;
}

Instruction* LargestOf(Instruction* reader, GemmEpilogue epilogue) {
  Instruction* reduce = reader;
  if (reader->opcode() == Opcode::kAbs) {
    if (reader->use_count() != 1 || reader->is_root()) return nullptr;
    reduce = reader->uses()[0].user;
  } else if (epilogue != GemmEpilogue::kRelu && epilogue != GemmEpilogue::kBiasRelu) {
    return nullptr;
  }
  if (reduce->opcode() != Opcode::kReduce || reduce->operand_count() != 2 ||
      reduce->shape().rank() != 0 || reduce->has_control_edges())
    return nullptr;
  const Instruction& init = *reduce->operand(1);
  const Instruction& root = *reduce->to_apply()->root();
  const bool is_maximum =
      root.opcode() == Opcode::kMaximum && root.operand(0)->opcode() == Opcode::kParameter &&
      root.operand(1)->opcode() == Opcode::kParameter && root.operand(0) != root.operand(1);
  return is_maximum && init.IsConstant() && !init.literal().is_elided() &&
                 init.literal().GetDouble() <= 0
             ? reduce
             : nullptr;
}

}  // namespace hlo
