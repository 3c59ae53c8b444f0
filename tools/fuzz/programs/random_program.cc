#include "tools/fuzz/programs/random_program.h"

#include <algorithm>

#include "lib/ir/outline.h"
#include "lib/ir/printer.h"
#include "lib/types/shape_util.h"
#include "tools/fuzz/programs/rows.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

constexpr int kTries = 4;

bool MayBeFused(const Instruction& instruction) {
  static constexpr Opcode kNever[] = {
      Opcode::kParameter,   Opcode::kConstant, Opcode::kWhile,
      Opcode::kConditional, Opcode::kCall,     Opcode::kAsyncStart,
      Opcode::kAsyncDone,   Opcode::kTuple,    Opcode::kGetTupleElement,
      Opcode::kSort,        Opcode::kTopK,     Opcode::kRngBitGenerator,
      Opcode::kFusion,      Opcode::kCholesky, Opcode::kTriangularSolve,
      Opcode::kFft};
  return instruction.shape().IsArray() &&
         std::find(std::begin(kNever), std::end(kNever), instruction.opcode()) == std::end(kNever);
}

// A random connected part becomes a fusion: an instruction and what it reads, as far
// as chance goes.
void Fuse(Module& module, FuzzRandom& random) {
  Computation* entry = module.entry();
  std::vector<Instruction*> seeds;
  for (Instruction* instruction : entry->instructions()) {
    if (MayBeFused(*instruction)) seeds.push_back(instruction);
  }
  if (seeds.empty()) return;
  std::vector<Instruction*> part = {random.Pick(seeds)};
  for (size_t i = 0; i < part.size() && part.size() < 8; ++i) {
    for (Instruction* producer : part[i]->operands()) {
      if (MayBeFused(*producer) && !random.OneIn(3) &&
          std::find(part.begin(), part.end(), producer) == part.end())
        part.push_back(producer);
    }
  }
  absl::StatusOr<Instruction*> call = Outline(part, "fused_computation");
  if (!call.ok()) return;
  static constexpr FusionKind kKinds[] = {FusionKind::kLoop, FusionKind::kLoop, FusionKind::kInput,
                                          FusionKind::kOutput};
  Computation* body = (*call)->call(0);
  std::vector<Instruction*> operands;
  for (int i = 0; i < (*call)->operand_count(); ++i) operands.push_back((*call)->operand(i));
  Instruction* fusion =
      entry->Add(Opcode::kFusion, (*call)->shape(), operands,
                 AttrsPtr::Make(FusionAttrs{.kind = kKinds[random.Below(4)]}), {&body, 1});
  entry->Replace(*call, fusion);
}

// Another order of dimensions in memory for some arrays, which must not change values.
void Relayout(Module& module, FuzzRandom& random) {
  for (Instruction* instruction : module.entry()->instructions()) {
    const Shape shape = instruction->shape();
    if (!shape.IsArray() || shape.rank() < 2 || !random.OneIn(3)) continue;
    if (instruction->opcode() == Opcode::kBitcast ||
        instruction->opcode() == Opcode::kGetTupleElement)
      continue;
    Layout layout = shape.layout();
    std::swap(layout.minor_to_major[0],
              layout.minor_to_major[1 + random.Below(layout.minor_to_major.size() - 1)]);
    instruction->set_shape(shape.WithLayout(layout));
  }
  module.ResetEntryLayout();
}

std::string Attempt(FuzzRandom& random) {
  Module module("fuzz");
  const Palette palette = RandomPalette(random);
  Sketch sketch(module, module.AddEntry("main"), palette, random);
  GrowSome(sketch, 2 + random.Below(random.OneIn(4) ? 16 : 8));
  sketch.Close();
  for (size_t i = random.OneIn(3) ? 1 + random.Below(2) : 0; i > 0; --i) Fuse(module, random);
  if (random.OneIn(4)) Relayout(module, random);
  module.ResetEntryLayout();
  module.Sweep();
  if (!VerifyRunnable(module).ok()) return "";
  PrintOptions print;
  print.large_constants = print.lossless = true;
  return ToText(module, print);
}

}  // namespace

std::string RandomProgram(FuzzRandom& random) {
  std::string text;
  for (int i = 0; i < kTries && text.empty(); ++i) text = Attempt(random);
  return text;
}

}  // namespace hlo
