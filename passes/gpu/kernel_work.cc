#include "passes/gpu/kernel_work.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "lib/ir/computation.h"
#include "lib/support/round.h"
#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"
#include "passes/fusion/index_evaluation.h"
#include "passes/gpu/op_cycles.h"

namespace hlo {
namespace {

constexpr int kMostUnrolledArrays = 10;  // that are still computed for several elements at a time
constexpr double kFewReducedElements = 16;  // which one thread reads

double WindowElements(const Instruction& reduce_window) {
  double elements = 1;
  for (const WindowDim& dim : reduce_window.attrs<ReduceWindowAttrs>().window.dims)
    elements *= static_cast<double>(dim.size);
  return elements;
}

// ---- parts of operands ----

double Ratio(Shape read, Shape operand) {
  return ElementsIn(read) / std::max(1.0, ElementsIn(operand));
}

double PartOfFirst(const Instruction& x, int i) {
  return i == 0 ? Ratio(x.shape(), x.operand(0)->shape()) : 1;
}
double PartOfUpdated(const Instruction&, int i) { return i == 0 ? 0 : 1; }
double PartOfScattered(const Instruction& x, int i) {
  const int arrays = x.operand_count() / 2;
  return i < arrays ? Ratio(x.operand(arrays + 1 + i)->shape(), x.operand(i)->shape()) : 1;
}
// Warps that cross from one operand into the next run the code of both.
double PartOfConcatenated(const Instruction& x, int i) {
  const auto dim = static_cast<int>(x.attrs<ConcatenateAttrs>().dimensions.value);
  const int64_t size = x.operand(i)->shape().dim(dim);
  if (dim == 0 || size == 0) return 1;
  return static_cast<double>(RoundUp(size, kThreadsOfWarp)) / static_cast<double>(size);
}
double PartOfReduced(const Instruction& x, int i) {
  return i < x.operand_count() / 2 ? 1 : Ratio(FirstArray(x.shape()), x.operand(i)->shape());
}
double PartOfWindows(const Instruction& x, int i) {
  if (i >= x.operand_count() / 2) return 1;
  return Ratio(FirstArray(x.shape()), x.operand(i)->shape()) * WindowElements(x);
}

struct PartRule {
  Opcode opcode;
  double (*part)(const Instruction& x, int operand);
};
constexpr PartRule kParts[] = {
    {Opcode::kBroadcast, PartOfFirst},      {Opcode::kConcatenate, PartOfConcatenated},
    {Opcode::kDynamicSlice, PartOfFirst},   {Opcode::kDynamicUpdateSlice, PartOfUpdated},
    {Opcode::kGather, PartOfFirst},         {Opcode::kReduce, PartOfReduced},
    {Opcode::kReduceWindow, PartOfWindows}, {Opcode::kScatter, PartOfScattered},
    {Opcode::kSlice, PartOfFirst},
};

double PartRead(const Instruction& x, int operand) {
  const auto* const rule = std::find_if(std::begin(kParts), std::end(kParts),
                                        [&](const PartRule& r) { return r.opcode == x.opcode(); });
  return rule == std::end(kParts) ? 1 : rule->part(x, operand);
}

// No element is read in part.
double WholeElements(double part, Shape operand) {
  const double elements = ElementsIn(operand);
  return elements == 0 ? 0 : std::ceil(part * elements) / elements;
}

// ---- what is known of operations ----

// The minor-most dimension of more than one element, or -1.
int64_t MinorDimension(Shape array) {
  const DimVec order = MajorToMinor(array);
  for (size_t i = order.size(); i-- > 0;) {
    if (array.dim(static_cast<int>(order[i])) != 1) return order[i];
  }
  return -1;
}

bool MovesMinor(const Instruction& x) {
  const bool is_transpose = x.opcode() == Opcode::kTranspose;
  if (!x.shape().IsArray() || (!is_transpose && x.opcode() != Opcode::kCopy)) return false;
  const int64_t minor = MinorDimension(x.shape());
  const int64_t from = is_transpose && minor >= 0
                           ? x.attrs<TransposeAttrs>().dimensions[static_cast<size_t>(minor)]
                           : minor;
  return from != MinorDimension(x.operand(0)->shape());
}

// All elements along some dimension are the same, or are no memory at all.
bool IsBroadcast(const Instruction* x) {
  while (x->opcode() != Opcode::kBroadcast && x->opcode() != Opcode::kIota) {
    const bool passes = x->operand_count() == 1 &&
                        (x->opcode() == Opcode::kBitcast || HasTrait(x->opcode(), kElementwise));
    if (!passes) return false;
    x = x->operand(0);
  }
  return true;
}

bool IsStrided(const Instruction& x) { return MovesMinor(x) && !IsBroadcast(x.operand(0)); }

bool IsHardToUnroll(const Instruction& x) {
  constexpr Opcode kHard[] = {Opcode::kReduceWindow, Opcode::kSort, Opcode::kDot};
  if (x.opcode() == Opcode::kConcatenate) return x.operand_count() > kMostUnrolledArrays;
  if (x.opcode() == Opcode::kReduce) return x.shape().IsTuple();
  return absl::c_linear_search(kHard, x.opcode());
}

bool ReducesMany(const Instruction& x) {
  return x.opcode() == Opcode::kReduce && x.shape().IsArray() &&
         ElementsIn(x.operand(0)->shape()) >= kFewReducedElements * ElementsIn(x.shape());
}

void Include(const std::vector<int>& more, std::vector<int>& spaces) {
  std::vector<int> all;
  std::set_union(spaces.begin(), spaces.end(), more.begin(), more.end(), std::back_inserter(all));
  spaces = std::move(all);
}

}  // namespace

bool ReadsInPlace(const Instruction& x) {
  constexpr Opcode kOthers[] = {Opcode::kMap, Opcode::kTuple, Opcode::kGetTupleElement};
  if (x.opcode() == Opcode::kBitcastConvert)
    return SameDimensions(x.shape(), x.operand(0)->shape());
  return HasTrait(x.opcode(), kElementwise) || absl::c_linear_search(kOthers, x.opcode());
}

double ElementsIn(Shape shape) {
  if (shape.IsArray()) return static_cast<double>(shape.element_count());
  double elements = 0;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray()) elements += static_cast<double>(leaf.element_count());
  });
  return elements;
}

Shape FirstArray(Shape shape) {
  while (shape.IsTuple() && !shape.elements().empty()) shape = shape.element(0);
  return shape;
}

// ---- of bodies ----

KernelWork::KernelWork(const Instruction& kernel) : is_fusion_(kernel.IsFusion()) {
  if (is_fusion_) {
    AddFusion(kernel);
  } else {
    AddOperation(kernel, 1, 1);
    for (int i = 0; i < kernel.operand_count(); ++i) {
      std::vector<int> spaces = {0};
      if (!ReadsInPlace(kernel)) {
        spaces = {static_cast<int>(spaces_.size())};
        spaces_.push_back({PartRead(kernel, i), 1});
      }
      AddSpaces(spaces, ReadFor(kernel.operand(i)));
    }
  }
}

void KernelWork::AddOperation(const Instruction& x, double part, double copies) {
  cycles_ += part * CyclesOf(x);
  size_ += copies;
  is_strided_ |= IsStrided(x);
  reduces_ |= ReducesMany(x);
  is_hard_to_unroll_ |= IsHardToUnroll(x);
  if (IsForgetful(x.opcode())) {
    forgetful_.push_back(x.id());
    absl::c_sort(forgetful_);
  }
}

void KernelWork::AddFusion(const Instruction& fusion) {
  for (const Instruction* operand : fusion.operands()) ReadFor(operand);  // also what nobody uses
  const std::vector<Instruction*> order = fusion.fused_computation()->PostOrder();
  absl::flat_hash_map<const Instruction*, std::vector<int>> read_in;
  absl::flat_hash_map<const Instruction*, int> own;  // spaces that are not those of a reader
  read_in[fusion.fused_computation()->root()] = {0};
  for (size_t i = order.size(); i-- > 0;) {
    const Instruction& x = *order[i];
    const std::vector<int> spaces = read_in[&x];
    if (x.opcode() == Opcode::kParameter) {
      AddSpaces(spaces, ReadFor(fusion.operand(static_cast<int>(x.parameter_number()))));
      continue;
    }
    OperandRead result;
    AddSpaces(spaces, result);
    AddOperation(x, result.part, result.copies);
    for (int o = 0; o < x.operand_count(); ++o) {
      const Instruction* const operand = x.operand(o);
      if (ReadsInPlace(x)) {
        Include(spaces, read_in[operand]);
        continue;
      }
      const auto [at, is_new] = own.emplace(operand, static_cast<int>(spaces_.size()));
      if (is_new) {
        spaces_.push_back({0, 0});
        Include({at->second}, read_in[operand]);
      }
      Space& space = spaces_[static_cast<size_t>(at->second)];
      space.part += WholeElements(result.part * PartRead(x, o), operand->shape());
      space.copies += result.copies;
    }
  }
}

double KernelWork::emitted_size() const {
  if (!is_fusion_) return 1;
  double size = size_;
  for (const OperandRead& read : reads_) size += read.copies;
  return size;
}

// ---- reads ----

namespace {

template <class Reads>
auto PlaceOf(Reads& reads, uint32_t id) {
  return absl::c_lower_bound(reads, id, [](const OperandRead& r, uint32_t i) { return r.id < i; });
}

}  // namespace

const OperandRead* KernelWork::ReadOf(const Instruction& operand) const {
  const auto at = PlaceOf(reads_, operand.id());
  return at != reads_.end() && at->IsOf(operand) ? &*at : nullptr;
}

OperandRead& KernelWork::ReadFor(const Instruction* operand) {
  const auto at = PlaceOf(reads_, operand->id());
  if (at != reads_.end() && at->IsOf(*operand)) return *at;
  return *reads_.insert(at, OperandRead{.operand = operand, .id = operand->id()});
}

void KernelWork::AddSpaces(const std::vector<int>& spaces, OperandRead& read) const {
  for (const int space : spaces) {
    if (absl::c_binary_search(read.spaces, space)) continue;
    read.part += spaces_[static_cast<size_t>(space)].part;
    read.copies += spaces_[static_cast<size_t>(space)].copies;
  }
  Include(spaces, read.spaces);
}

double KernelWork::PartInBoth(const OperandRead& a, const OperandRead& b) const {
  double part = 0;
  for (const int space : a.spaces) {
    if (absl::c_binary_search(b.spaces, space)) part += spaces_[static_cast<size_t>(space)].part;
  }
  return part;
}

void KernelWork::TakeIn(const Instruction& producer, const KernelWork& of_producer) {
  const auto at = PlaceOf(reads_, producer.id());
  const OperandRead read = std::move(*at);
  reads_.erase(at);
  cycles_ += read.part * of_producer.cycles_;
  size_ += read.copies * of_producer.size_;
  is_strided_ |= of_producer.is_strided_;
  reduces_ |= of_producer.reduces_;
  is_hard_to_unroll_ |= of_producer.is_hard_to_unroll_;
  std::vector<int64_t> forgetful;
  absl::c_set_union(forgetful_, of_producer.forgetful_, std::back_inserter(forgetful));
  forgetful_ = std::move(forgetful);

  const int before = static_cast<int>(spaces_.size()) - 1;  // space 0 is there already
  for (size_t i = 1; i < of_producer.spaces_.size(); ++i) {
    const Space& space = of_producer.spaces_[i];
    spaces_.push_back({space.part * read.part, space.copies * read.copies});
  }
  for (const OperandRead& other : of_producer.reads_) {
    std::vector<int> spaces;
    if (other.IsInPlace()) spaces = read.spaces;
    for (const int space : other.spaces) {
      if (space > 0) spaces.push_back(before + space);
    }
    AddSpaces(spaces, ReadFor(other.operand));
  }
}

void KernelWork::Rename(const Instruction& operand, const Instruction& newer) {
  const auto at = absl::c_find_if(reads_, [&](const OperandRead& r) { return r.IsOf(operand); });
  if (at == reads_.end()) return;
  OperandRead read = std::move(*at);
  reads_.erase(at);
  read.operand = &newer;
  read.id = newer.id();
  reads_.insert(PlaceOf(reads_, read.id), std::move(read));
}

}  // namespace hlo
