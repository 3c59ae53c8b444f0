#include "backends/gpu/emit/epilogue.h"

#include "absl/container/flat_hash_map.h"
#include "lib/support/status.h"
#include "passes/cpu/fusible.h"

namespace hlo::gpu {
namespace {

bool IsProductOpcode(Opcode opcode) {
  return opcode == Opcode::kDot || opcode == Opcode::kScaledDot || opcode == Opcode::kConvolution;
}

}  // namespace

const Instruction* ProductOf(const Instruction& fusion) {
  if (!fusion.IsFusion()) return IsProductOpcode(fusion.opcode()) ? &fusion : nullptr;
  const Instruction* product = nullptr;
  for (const Instruction* i : fusion.fused_computation()->instructions()) {
    if (!IsProductOpcode(i->opcode())) continue;
    if (product != nullptr) return nullptr;
    product = i;
  }
  return product;
}

Decision CanFollow(const Instruction& fusion, const Instruction& product) {
  const Computation& body = *fusion.fused_computation();
  if (!body.root()->shape().IsArray() || body.root()->shape().dims() != product.shape().dims())
    return No("its result has not the product's dimensions");
  absl::flat_hash_map<const Instruction*, bool> depends;  // on the product; looked up only
  depends[&product] = true;
  for (const Instruction* i : body.PostOrder()) {
    if (i == &product || i->opcode() == Opcode::kParameter) continue;
    bool after = false;
    for (const Instruction* operand : i->operands()) after = after || depends[operand];
    depends[i] = after;
    if (after && (!cpu::IsFusibleElementwise(*i) || i->shape().dims() != product.shape().dims()))
      return No("`{}` after the product is not elementwise", i->name());
    if (const Decision kernel = cpu::IsKernel(*i); !kernel) return kernel;
  }
  return depends[body.root()] ? Yes() : No("its result does not depend on the product");
}

absl::Status Epilogue::Store(FusedEmitter& emitter, llvm::Value* linear,
                             absl::Span<const Emitted> values) const {
  KernelBuilder& k = emitter.kernel();
  const KernelOutput& output = frame_.outputs[0];
  const int lanes = static_cast<int>(values.size());
  EmittedList results;
  if (output.instruction == &product_) {
    results.assign(values.begin(), values.end());
  } else {
    std::vector<llvm::Value*> places;
    for (int i = 0; i < lanes; ++i) places.push_back(k.Offset(linear, i));
    if (lanes > 1) emitter.SetVector(places, output.shape.element_count());
    for (int i = 0; i < lanes; ++i) {
      const ArrayIndex index =
          ArrayIndex::Element(output.shape.dims(), places[static_cast<size_t>(i)]);
      emitter.SetElement(&product_, index, values[static_cast<size_t>(i)]);
      ASSIGN_OR_RETURN(const Emitted result, emitter.Emit(output.instruction, index));
      results.push_back(result);
    }
    if (lanes > 1) emitter.SetVector({}, 0);
  }
  if (lanes == 1) {
    k.Store(output.buffer, linear, results[0]);
  } else {
    k.StoreVector(output.buffer, linear, results);
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu
