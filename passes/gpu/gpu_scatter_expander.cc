#include "passes/gpu/gpu_scatter_expander.h"

namespace hlo {
namespace {

constexpr int kWidestAtomic = 64;

}  // namespace

bool GpuScatterExpander::Matches(const Instruction& instruction) const {
  const Shape& shape = instruction.shape();
  return (shape.IsTuple() || BitWidth(shape.element_type()) > kWidestAtomic) &&
         ScatterExpander::Matches(instruction);
}

HLO_DEFINE_PASS(GpuScatterExpander)

}  // namespace hlo
