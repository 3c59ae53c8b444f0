#include "passes/gpu/shared_kernels.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/alias.h"
#include "lib/ir/updated_operands.h"
#include "lib/support/contains.h"
#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/fusion_questions.h"
#include "passes/gpu/reduction_shape.h"

namespace hlo {
namespace {

// A transpose goes through shared memory when both minor dimensions are as long as this, …
constexpr int64_t kLongTile = 16;
// … or as this and together as long as that.
constexpr int64_t kShortTile = 8;
constexpr int64_t kLeastTile = 64 * kShortTile;
// A minor dimension that stays minor has at most so many bytes in a tile.
constexpr int64_t kMostMinorBytes = 8;

constexpr int64_t kTile = 32;  // threads of a warp, and rows of a tile
constexpr int64_t kSharedMemory = 48 * 1024;
constexpr int64_t kMostReductions = 8;
constexpr int64_t kMostOperandsAndOutputs = 96;

constexpr Opcode kLoops[] = {
    Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice,
    Opcode::kGather,    Opcode::kPad,         Opcode::kReduceWindow, Opcode::kReshape,
    Opcode::kReverse,   Opcode::kSlice,       Opcode::kTranspose};

bool IsElementwiseOp(const Instruction& x) {
  return HasTrait(x.opcode(), kElementwise) && x.operand_count() > 0;
}

bool IsReductionByWarps(const Instruction& x) {
  return x.opcode() == Opcode::kReduce && IsFromOrToContiguousDims(x);
}

// ---- transposes ----

// The dimension of the result that each dimension of the operand becomes, or none.
std::optional<DimVec> PermutationOf(const Instruction& x) {
  if (x.opcode() == Opcode::kTranspose) return x.attrs<TransposeAttrs>().dimensions;
  if (x.opcode() != Opcode::kCopy || !x.shape().IsArray()) return std::nullopt;
  DimVec same;
  for (int64_t d = 0; d < x.shape().rank(); ++d) same.push_back(d);
  return same;
}

// Dimensions of size 1 left out, those that go together made one.
std::optional<TiledTranspose> InMemory(const Instruction& x) {
  const std::optional<DimVec> permutation = PermutationOf(x);
  if (!permutation) return std::nullopt;
  const Shape to = x.shape().WithMissingLayoutsFilled();
  const Shape from = x.operand(0)->shape().WithMissingLayoutsFilled();
  const auto is_long = [](Shape shape, int64_t d) { return shape.dim(static_cast<int>(d)) != 1; };
  DimVec places(static_cast<size_t>(from.rank()));  // in memory, of the operand's dimensions
  int64_t next = 0;
  for (const int64_t d : MajorToMinor(from)) {
    if (is_long(from, d)) places[static_cast<size_t>(d)] = next++;
  }
  TiledTranspose result;
  int64_t before = -2;
  for (const int64_t d : MajorToMinor(to)) {
    if (!is_long(to, d)) continue;
    const int64_t place = places[static_cast<size_t>((*permutation)[static_cast<size_t>(d)])];
    const int64_t size = to.dim(static_cast<int>(d));
    if (place == before + 1) {
      result.sizes.back() *= size;
    } else {
      result.sizes.push_back(size);
      result.permutation.push_back(place);
    }
    before = place;
  }
  // Places to numbers of the dimensions that are left.
  DimVec sorted = result.permutation;
  absl::c_sort(sorted);
  for (int64_t& place : result.permutation)
    place = absl::c_lower_bound(sorted, place) - sorted.begin();
  return result;
}

// ---- heroes ----

// The one transpose through shared memory that an output is computed from, or null.
const Instruction* TransposeBefore(const Instruction& output) {
  std::vector<const Instruction*> stack = {&output};
  absl::flat_hash_set<const Instruction*> seen;
  const Instruction* found = nullptr;
  while (!stack.empty()) {
    const Instruction* const x = stack.back();
    stack.pop_back();
    if (!seen.insert(x).second) continue;
    if (TiledTransposeOf(*x)) {
      if (found != nullptr && TiledTransposeOf(*found) != TiledTransposeOf(*x)) return nullptr;
      found = x;
    } else if (x->operand_count() > 0 && IsPassedThrough(*x)) {
      for (const Instruction* operand : x->operands()) stack.push_back(operand);
    }
  }
  return found;
}

const Instruction& HeroBefore(const Instruction& output) {
  const Instruction* hero = &output;
  while (hero->operand_count() == 1 && IsPassedThrough(*hero)) hero = hero->operand(0);
  if (hero->opcode() == Opcode::kReduce) return *hero;
  const Instruction* const transpose = TransposeBefore(output);
  return transpose != nullptr ? *transpose : *hero;
}

bool IsReductionHero(const Instruction& output, const Instruction& hero) {
  return IsReductionByWarps(hero) && (&output == &hero || IsRaceFree(*ReductionShapeOf(hero)));
}

// ---- budgets ----

int64_t CountOutputs(Shape shape) {
  int64_t count = 0;
  ForEachSubShape(shape, [&](Shape, const ShapeIndex&) { ++count; });
  return count;
}

int64_t ElementBytes(const Instruction& x) {
  return ByteSize(x.operand(0)->shape().element_type());
}

int64_t OwnSharedMemory(const Instruction& x) {
  if (IsReductionByWarps(x)) {
    const int64_t arrays = x.operand_count() / 2;
    const int64_t elements =
        ReductionShapeOf(x)->is_row ? kTile : 4 * kTile * (kTile + 1);  // a column of tiles
    return elements * ElementBytes(x) * arrays;
  }
  const std::optional<TiledTranspose> transpose = TiledTransposeOf(x);
  if (!transpose) return 0;
  const int64_t tile = kTile * (kTile + 1) * ElementBytes(x);
  const bool keeps_minor = transpose->permutation.back() + 1 == std::ssize(transpose->sizes);
  return keeps_minor ? tile * transpose->sizes.back() : tile;
}

template <class Count>
int64_t SumOf(const Instruction& kernel, const Count& count) {
  if (!kernel.IsFusion()) return count(kernel);
  int64_t sum = 0;
  for (const Instruction* i : kernel.fused_computation()->instructions()) sum += count(*i);
  return sum;
}

bool IsCustom(const Instruction& x) {
  return x.IsFusion() && x.attrs<FusionAttrs>().kind == FusionKind::kCustom;
}

}  // namespace

std::optional<TiledTranspose> TiledTransposeOf(const Instruction& instruction) {
  const std::optional<TiledTranspose> moved = InMemory(instruction);
  if (!moved || moved->sizes.size() < 2) return std::nullopt;
  const DimVec& sizes = moved->sizes;
  const auto size_of_operand = [&](int64_t dimension) {
    const auto at = absl::c_find(moved->permutation, dimension) - moved->permutation.begin();
    return sizes[static_cast<size_t>(at)];
  };
  const int64_t last = std::ssize(sizes) - 1, minor = sizes.back();
  if (moved->permutation.back() == last) {
    const int64_t bytes = ByteSize(instruction.shape().element_type()) * minor;
    const int64_t shorter =
        std::min(size_of_operand(last - 1), sizes[static_cast<size_t>(last - 1)]);
    const bool fits = bytes <= kMostMinorBytes && bytes * shorter >= kLongTile;
    return fits ? moved : std::nullopt;
  }
  if (IsSubByte(instruction.shape().element_type())) return std::nullopt;
  const int64_t operand_minor = size_of_operand(last);
  const int64_t shorter = std::min(operand_minor, minor);
  const bool fits =
      shorter >= kLongTile || (shorter >= kShortTile && operand_minor * minor >= kLeastTile);
  return fits ? moved : std::nullopt;
}

bool IsPassedThrough(const Instruction& x) {
  if (x.opcode() == Opcode::kCopy) return x.shape() == x.operand(0)->shape();
  if (IsElementwiseOp(x) || x.opcode() == Opcode::kBitcast) return true;
  if (x.opcode() == Opcode::kReshape) return ReshapeIsBitcast(x.operand(0)->shape(), x.shape());
  return x.opcode() == Opcode::kTranspose &&
         TransposeIsBitcast(x.operand(0)->shape(), x.shape(), x.attrs<TransposeAttrs>().dimensions);
}

std::vector<const Instruction*> OutputsOf(const Instruction& kernel) {
  if (!kernel.IsFusion()) return {&kernel};
  const std::vector<Instruction*> outputs = FusionOutputs(kernel);
  return {outputs.begin(), outputs.end()};
}

const Instruction& HeroOf(const Instruction& kernel) {
  const std::vector<const Instruction*> outputs = OutputsOf(kernel);
  for (const Instruction* output : outputs) {
    const Instruction& hero = kernel.IsFusion() ? HeroBefore(*output) : *output;
    if (IsReductionHero(*output, hero) || TiledTransposeOf(hero)) return hero;
  }
  return outputs.empty() ? kernel : *outputs[0];
}

bool EndsWithReduction(const Instruction& kernel) {
  if (IsCustom(kernel)) return false;
  return absl::c_any_of(OutputsOf(kernel), [&](const Instruction* output) {
    return IsReductionHero(*output, kernel.IsFusion() ? HeroBefore(*output) : *output);
  });
}

bool EndsWithTiledTranspose(const Instruction& kernel) {
  if (IsCustom(kernel)) return false;
  return absl::c_any_of(OutputsOf(kernel), [&](const Instruction* output) {
    return TiledTransposeOf(kernel.IsFusion() ? HeroBefore(*output) : *output).has_value();
  });
}

bool IsVariadicReductionInLoop(const Instruction& kernel) {
  if (!kernel.shape().IsTuple()) return false;
  if (kernel.opcode() == Opcode::kReduce) return !IsReductionByWarps(kernel);
  return kernel.opcode() == Opcode::kReduceWindow ||
         (kernel.IsFusion() && kernel.attrs<FusionAttrs>().kind == FusionKind::kLoop &&
          kernel.fused_computation()->root()->opcode() == Opcode::kReduce);
}

namespace {

bool IsAnyLoop(const Instruction& kernel) {
  const Opcode opcode = kernel.opcode();
  if (opcode == Opcode::kCopy) return !TiledTransposeOf(kernel);
  if (opcode == Opcode::kBitcast)
    return BitWidth(kernel.shape().element_type()) ==
           BitWidth(kernel.operand(0)->shape().element_type());
  if (kernel.IsFusion()) return kernel.attrs<FusionAttrs>().kind == FusionKind::kLoop;
  return IsElementwiseOp(kernel) || Contains(kLoops, opcode);
}

bool EndsWithScatterKernel(const Instruction& kernel) {
  if (!kernel.IsFusion()) return kernel.opcode() == Opcode::kScatter;
  return kernel.attrs<FusionAttrs>().kind == FusionKind::kInput &&
         kernel.fused_computation()->root()->opcode() == Opcode::kScatter;
}

}  // namespace

bool IsLoopAsProducer(const Instruction& kernel) {
  const Opcode opcode = kernel.opcode();
  if (opcode == Opcode::kIota || opcode == Opcode::kConstant) return true;
  if (opcode == Opcode::kReduce) return kernel.shape().IsArray();
  return IsAnyLoop(kernel);
}

bool CanComputeOperands(const Instruction& kernel) {
  return IsInputKernel(kernel) || IsAnyLoop(kernel) || kernel.opcode() == Opcode::kReduce;
}

bool IsInputKernel(const Instruction& kernel) {
  return EndsWithReduction(kernel) || EndsWithScatterKernel(kernel) ||
         EndsWithTiledTranspose(kernel);
}

bool IsPhysicallyTransposing(const Instruction& kernel) {
  if (kernel.IsFusion())
    return absl::c_any_of(kernel.fused_computation()->instruction_vector(),
                          [](const Instruction* i) { return IsPhysicallyTransposing(*i); });
  if (kernel.opcode() == Opcode::kCopy) return true;
  const std::optional<TiledTranspose> moved = InMemory(kernel);
  return moved && moved->sizes.size() > 1;
}

bool MayHaveMoreOutputs(const Instruction& kernel) {
  if (IsCustom(kernel) || kernel.has_control_edges() || kernel.sharding() != nullptr ||
      kernel.HasSideEffect() ||
      !absl::c_all_of(OutputsOf(kernel), [](const Instruction* o) { return o->shape().IsArray(); }))
    return false;
  if (kernel.IsFusion() && kernel.attrs<FusionAttrs>().kind == FusionKind::kLoop) return true;
  return EndsWithReduction(kernel) || EndsWithTiledTranspose(kernel) || IsElementwiseOp(kernel);
}

namespace {

Decision HeroesAgree(const Instruction& a, const Instruction& b) {
  const bool a_reduces = IsReductionByWarps(a), b_reduces = IsReductionByWarps(b);
  const std::optional<TiledTranspose> a_moves = TiledTransposeOf(a), b_moves = TiledTransposeOf(b);
  if (a_reduces && b_reduces) {
    const ReductionShape of_a = *ReductionShapeOf(a), of_b = *ReductionShapeOf(b);
    if (of_a.is_row != of_b.is_row || of_a.sizes != of_b.sizes)
      return No("`{}` and `{}` reduce other shapes", a.name(), b.name());
  }
  if (a_moves && b_moves && *a_moves != *b_moves)
    return No("`{}` and `{}` transpose other tiles", a.name(), b.name());
  if ((a_moves && b_reduces) || (a_reduces && b_moves))
    return No("one of `{}` and `{}` transposes, the other reduces", a.name(), b.name());
  return Yes();
}

// A transpose that is no hero any more reads memory in strides.
Decision HasNoOtherTranspose(const Instruction& kernel, const Instruction& hero) {
  if (!kernel.IsFusion()) return Yes();
  for (const Instruction* i : kernel.fused_computation()->instructions()) {
    if (i != &hero && TiledTransposeOf(*i) && TiledTransposeOf(*i) != TiledTransposeOf(hero))
      return No("`{}` in `{}` would be a part of a loop", i->name(), kernel.name());
  }
  return Yes();
}

Shape LoopOver(const Instruction& hero) {
  return IsReductionByWarps(hero) || TiledTransposeOf(hero) ? hero.operand(0)->shape()
                                                            : hero.shape();
}

bool IsSameLoop(Shape a, Shape b) {
  if (!a.IsArray() || !b.IsArray()) return a == b;
  const Shape full_a = a.WithMissingLayoutsFilled();
  const Shape full_b = b.WithMissingLayoutsFilled().WithElementType(a.element_type());
  return full_a == full_b ||
         (full_a.element_count() == full_b.element_count() && ReshapeIsBitcast(full_a, full_b));
}

}  // namespace

Decision HaveSameLoops(const Instruction& a, const Instruction& b) {
  const Instruction &of_a = HeroOf(a), &of_b = HeroOf(b);
  if (Decision heroes = HeroesAgree(of_a, of_b); !heroes) return heroes;
  if (TiledTransposeOf(of_a) || TiledTransposeOf(of_b)) {
    if (Decision alone = HasNoOtherTranspose(a, of_a); !alone) return alone;
    if (Decision alone = HasNoOtherTranspose(b, of_b); !alone) return alone;
  }
  const Shape loop_a = LoopOver(of_a), loop_b = LoopOver(of_b);
  if (!IsSameLoop(loop_a, loop_b))
    return No("`{}` is a loop over {:l}, `{}` one over {:l}", a.name(), loop_a, b.name(), loop_b);
  return Yes();
}

KernelNeeds NeedsOf(const Instruction& kernel) {
  return {SumOf(kernel, OwnSharedMemory), SumOf(kernel, IsReductionByWarps)};
}

Decision FitInOneKernel(const Instruction& a, const Instruction& b, bool a_reads_b) {
  return FitInOneKernel(a, NeedsOf(a), b, NeedsOf(b), a_reads_b);
}

Decision FitInOneKernel(const Instruction& a, const KernelNeeds& of_a, const Instruction& b,
                        const KernelNeeds& of_b, bool a_reads_b) {
  const int64_t shared = of_a.shared_memory + of_b.shared_memory;
  if (shared > kSharedMemory) return No("together they take {} bytes of shared memory", shared);
  const int64_t reductions = of_a.reductions + of_b.reductions;
  if (reductions > kMostReductions) return No("together they are {} reductions", reductions);
  const int64_t outputs = CountOutputs(a.shape()) + CountOutputs(b.shape());
  if (a.operand_count() + b.operand_count() - 1 + outputs <= kMostOperandsAndOutputs) return Yes();
  absl::flat_hash_set<const Instruction*> operands(a.operands().begin(), a.operands().end());
  operands.insert(b.operands().begin(), b.operands().end());
  operands.erase(&a);
  operands.erase(&b);
  if (a_reads_b && std::ssize(operands) <= a.operand_count()) return Yes();
  if (std::ssize(operands) + outputs > kMostOperandsAndOutputs)
    return No("together they have {} operands and outputs", std::ssize(operands) + outputs);
  return Yes();
}

bool TransposesMost(const Instruction& fusion) {
  constexpr double kMost = 0.5;
  int64_t all = 0, moved = 0;
  for (const Instruction* output : OutputsOf(fusion)) all += output->shape().element_count();
  for (const Instruction* i : fusion.fused_computation()->instructions()) {
    if (IsPhysicallyTransposing(*i)) moved += i->shape().element_count();
  }
  return moved > 0 && static_cast<double>(moved) >= kMost * static_cast<double>(all);
}

Instruction* ProducerOf(Instruction* value) {
  while (value->opcode() == Opcode::kGetTupleElement) value = value->operand(0);
  return value;
}

bool IsReadOnlyBy(const Instruction& value, const Instruction& consumer) {
  return absl::c_all_of(value.uses(), [&](const Use& use) {
    const Instruction& user = *use.user;
    if (user.opcode() == Opcode::kGetTupleElement)
      return !user.has_control_edges() && IsReadOnlyBy(user, consumer);
    // What comes after the root could lead back.
    return &user == &consumer || (user.is_root() && !user.has_uses() && !user.has_control_edges());
  });
}

bool IsReadByElements(const Instruction& kernel) {
  return kernel.shape().IsArray() ||
         (!kernel.is_root() && absl::c_all_of(kernel.uses(), [](const Use& use) {
           return use.user->opcode() == Opcode::kGetTupleElement;
         }));
}

bool UpdatesInPlace(const Instruction& kernel) {
  if (kernel.IsFusion() && !kernel.attrs<FusionAttrs>().output_to_operand_aliasing.empty())
    return true;
  return absl::c_any_of(OutputsOf(kernel),
                        [](const Instruction* output) { return UpdatedOperandCount(*output) > 0; });
}

int64_t BodySize(const Instruction& kernel) {
  return kernel.IsFusion() ? kernel.fused_computation()->instruction_count() : 1;
}

void TakeIn(Instruction* fusion, Instruction* x) {
  Computation* const body = x->IsFusion() ? x->fused_computation() : nullptr;
  const bool is_read_elsewhere =
      x->is_root() || x->shape().IsTuple() ||
      absl::c_any_of(x->uses(), [fusion](const Use& use) { return use.user != fusion; });
  if (is_read_elsewhere) {
    MergeOutputs(fusion, x);
  } else {
    Absorb(x, fusion);
    x->parent()->Remove(x);
  }
  if (body != nullptr && body->callers().empty()) body->module().RemoveComputation(body);
}

Instruction* WrapInFusion(Instruction* instruction, FusionKind kind) {
  return Fuse({instruction}, {.kind = kind});
}

}  // namespace hlo
