#include "lib/ir/verify_meaning.h"

#include <algorithm>
#include <array>

#include "lib/ir/any_instruction.h"
#include "lib/ir/verify_internal.h"
#include "lib/support/warning_list.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

using internal::Agree;
using internal::SameIgnoringLayout;

// What was found, in the order of the instructions.
using Reports = WarningList;

using Rule = void (*)(Reports& reports, const Instruction& instruction);

// The first entry of `dims` that stands in it twice, or that is in `others`, too; null: there is
// none.
const int64_t* FirstRepeated(const DimVec& dims) {
  for (const int64_t& dim : dims) {
    if (std::count(dims.begin(), dims.end(), dim) > 1) return &dim;
  }
  return nullptr;
}
const int64_t* FirstShared(const DimVec& dims, const DimVec& others) {
  for (const int64_t& dim : dims) {
    if (std::count(others.begin(), others.end(), dim) > 0) return &dim;
  }
  return nullptr;
}

bool SameKnownSize(int64_t a, int64_t b) {
  return a == b || a == Shape::kUnbounded || b == Shape::kUnbounded;
}

void CheckBroadcast(Reports& reports, const Instruction& broadcast) {
  const int64_t* repeated = FirstRepeated(broadcast.attrs<BroadcastAttrs>().dimensions);
  if (repeated == nullptr) return;
  reports.Add(broadcast.loc(), "broadcast `{}` feeds dimension {} of the result twice",
              broadcast.name(), *repeated);
}

void CheckBitcast(Reports& reports, const Instruction& bitcast) {
  const Shape from = bitcast.operand(0)->shape();
  if (from.IsArray() && bitcast.shape().IsArray()) {
    if (bitcast.shape().has_dynamic_dims() && !from.has_dynamic_dims())
      reports.Add(bitcast.loc(), "`{}` makes `{}` of `{}`, but nothing says how long it is",
                  bitcast.name(), bitcast.shape(), from);
    return;
  }
  if (SameIgnoringLayout(from, bitcast.shape())) return;
  reports.Add(bitcast.loc(), "bitcast `{}` from `{}` to `{}` has no meaning: both are to be arrays",
              bitcast.name(), from, bitcast.shape());
}

void CheckCompare(Reports& reports, const Instruction& compare) {
  const ComparisonDirection direction = compare.attrs<CompareAttrs>().direction;
  if (!IsComplex(compare.operand(0)->shape().element_type()) ||
      direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe)
    return;
  reports.Add(compare.loc(),
              "`{}` compares complex numbers, which have no order: `direction` is `{}`, expected "
              "`EQ` or `NE`",
              compare.name(), Text(direction));
}

void CheckFft(Reports& reports, const Instruction& fft) {
  const Shape operand = fft.operand(0)->shape();
  const DimVec& lengths = fft.attrs<FftAttrs>().fft_length;
  const FftType type = fft.attrs<FftAttrs>().fft_type;
  if ((type != FftType::kFft && type != FftType::kIfft) || operand.IsZeroSized()) return;
  const int first = operand.rank() - static_cast<int>(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t size = operand.dim(first + static_cast<int>(i));
    if (lengths[i] == 0 || SameKnownSize(size, lengths[i])) continue;
    return reports.Add(fft.loc(),
                       "entry {} of `fft_length` of `{}` is {}, but the dimension has size {}", i,
                       fft.name(), lengths[i], size);
  }
}

// Regions of other floats than what they are applied to: nothing says who converts.

using Types = std::vector<ElementType>;

// Of the elements of operands [first, first + count).
Types TypesOf(const Instruction& instruction, int first, int count) {
  Types types;
  for (int i = first; i < first + count; ++i)
    types.push_back(instruction.operand(i)->shape().element_type());
  return types;
}

Types BothTypes(Types types, const Types& more) {
  types.insert(types.end(), more.begin(), more.end());
  return types;
}

void CheckRegion(Reports& reports, const Instruction& instruction, const Computation& region,
                 const Types& takes, const Types& gives) {
  const auto complain = [&](std::string_view what, size_t i, ElementType seen, ElementType wanted) {
    reports.Add(instruction.loc(), "`{}` applies `{}`, whose {} {} is `{}`, expected `{}`",
                instruction.name(), region.name(), what, i, Text(seen), Text(wanted));
  };
  for (size_t i = 0; i < takes.size() && i < region.parameters().size(); ++i) {
    const ElementType seen = region.parameters()[i]->shape().element_type();
    if (seen != takes[i]) return complain("parameter", i, seen, takes[i]);
  }
  size_t i = 0;
  ForEachLeaf(region.root()->shape(), [&](Shape leaf, const ShapeIndex&) {
    if (i < gives.size() && leaf.element_type() != gives[i])
      complain("result", i, leaf.element_type(), gives[i]);
    ++i;
  });
}

// Accumulators, then elements, of each array.
void CheckReduce(Reports& reports, const Instruction& reduce) {
  const Types types = TypesOf(reduce, 0, reduce.operand_count() / 2);
  CheckRegion(reports, reduce, *reduce.to_apply(), BothTypes(types, types), types);
}

void CheckMap(Reports& reports, const Instruction& map) {
  CheckRegion(reports, map, *map.to_apply(), TypesOf(map, 0, map.operand_count()),
              {map.shape().element_type()});
}

// Two elements of each array, side by side.
void CheckSort(Reports& reports, const Instruction& sort) {
  Types pairs;
  for (const ElementType type : TypesOf(sort, 0, sort.operand_count()))
    pairs.insert(pairs.end(), {type, type});
  CheckRegion(reports, sort, *sort.to_apply(), pairs, {ElementType::kPred});
}

void CheckSelectAndScatter(Reports& reports, const Instruction& scatter) {
  const Types types = TypesOf(scatter, 0, 1), pair = BothTypes(types, types);
  CheckRegion(reports, scatter, *scatter.call(0), pair, {ElementType::kPred});
  CheckRegion(reports, scatter, *scatter.call(1), pair, types);
}

// What gather and scatter have in common, under the names of either.
struct Indexing {
  Shape array, indices;
  const DimVec& skipped;
  const DimVec& batching;
  const DimVec& indices_batching;
  const DimVec& map;
  int64_t vector_dim;
  std::string_view skipped_name, batching_name, indices_batching_name, map_name;
};

void CheckIndexing(Reports& reports, const Instruction& instruction, const Indexing& x) {
  if (const int64_t* both = FirstShared(x.batching, x.skipped)) {
    return reports.Add(instruction.loc(), "dimension {} of `{}` is in both `{}` and `{}`", *both,
                       instruction.name(), x.skipped_name, x.batching_name);
  }
  if (const int64_t* both = FirstShared(x.batching, x.map)) {
    return reports.Add(instruction.loc(), "dimension {} of `{}` is in both `{}` and `{}`", *both,
                       instruction.name(), x.map_name, x.batching_name);
  }
  if (std::count(x.indices_batching.begin(), x.indices_batching.end(), x.vector_dim) > 0) {
    return reports.Add(instruction.loc(), "`{}` of `{}` contains `index_vector_dim`, {}",
                       x.indices_batching_name, instruction.name(), x.vector_dim);
  }
  for (size_t i = 0; i < x.batching.size(); ++i) {
    const int64_t size = x.array.dim(static_cast<int>(x.batching[i]));
    const int64_t other = x.indices.dim(static_cast<int>(x.indices_batching[i]));
    if (SameKnownSize(size, other)) continue;
    return reports.Add(
        instruction.loc(),
        "batching dimension {} of operand 0 of `{}` is {}, but dimension {} of the indices is {}",
        x.batching[i], instruction.name(), size, x.indices_batching[i], other);
  }
}

void CheckGather(Reports& reports, const Instruction& gather) {
  const GatherAttrs& attrs = gather.attrs<GatherAttrs>();
  CheckIndexing(reports, gather,
                {gather.operand(0)->shape(), gather.operand(1)->shape(), attrs.collapsed_slice_dims,
                 attrs.operand_batching_dims, attrs.start_indices_batching_dims,
                 attrs.start_index_map, attrs.index_vector_dim, "collapsed_slice_dims",
                 "operand_batching_dims", "start_indices_batching_dims", "start_index_map"});
}

// Whether the arrays of operands `first` and `i` have the same dimensions.
bool SameDims(const Instruction& instruction, int first, int i) {
  const Shape a = instruction.operand(first)->shape();
  const Shape b = instruction.operand(i)->shape();
  return Agree(a.WithElementType(b.element_type()), b, {});
}

void CheckScatter(Reports& reports, const Instruction& scatter) {
  const ScatterAttrs& attrs = scatter.attrs<ScatterAttrs>();
  const int inputs = scatter.operand_count() / 2;
  for (int i = 1; i < inputs; ++i) {
    for (const int first : {0, inputs + 1}) {
      if (SameDims(scatter, first, first + i)) continue;
      return reports.Add(scatter.loc(),
                         "operands {} and {} of scatter `{}` have shapes `{}` and `{}`, "
                         "expected equal dimensions",
                         first, first + i, scatter.name(), scatter.operand(first)->shape(),
                         scatter.operand(first + i)->shape());
    }
  }
  const Types types = TypesOf(scatter, 0, inputs);
  CheckRegion(reports, scatter, *scatter.to_apply(),
              BothTypes(types, TypesOf(scatter, inputs + 1, inputs)), types);
  CheckIndexing(
      reports, scatter,
      {scatter.operand(0)->shape(), scatter.operand(inputs)->shape(), attrs.inserted_window_dims,
       attrs.input_batching_dims, attrs.scatter_indices_batching_dims,
       attrs.scatter_dims_to_operand_dims, attrs.index_vector_dim, "inserted_window_dims",
       "input_batching_dims", "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"});
}

void CheckWhile(Reports& reports, const Instruction& loop) {
  const Shape init = loop.operand(0)->shape();
  const Shape result = loop.while_body()->root()->shape();
  if (SameIgnoringLayout(init, result)) return;
  reports.Add(loop.loc(), "the body of `{}` takes `{}`, but returns `{}`", loop.name(), init,
              result);
}

void CheckFusion(Reports& reports, const Instruction& fusion) {
  const Computation& fused = *fusion.fused_computation();
  const auto other = std::find_if(fused.callers().begin(), fused.callers().end(),
                                  [&](const CallSite& site) { return site.caller != &fusion; });
  if (other == fused.callers().end()) return;
  reports.Add(fusion.loc(), "computation `{}` of fusion `{}` is called by `{}`, too", fused.name(),
              fusion.name(), other->caller->name());
}

void CheckReducer(Reports& reports, const Instruction& collective) {
  const Computation& reducer = *collective.to_apply();
  const auto complain = [&](std::string_view what, const std::string& seen) {
    reports.Add(collective.loc(),
                "the reducer `{}` of `{}` {} {}, expected a function of two scalars",
                reducer.name(), collective.name(), what, seen);
  };
  if (reducer.parameter_count() != 2)
    return complain("has", fmt::format("{} parameters", reducer.parameter_count()));
  const auto fits = [&](Shape shape) {
    return shape.IsScalar() &&
           std::all_of(collective.operands().begin(), collective.operands().end(),
                       [shape](const Instruction* operand) {
                         const ElementType type = operand->shape().element_type();
                         return type == shape.element_type() ||
                                (IsFloat(type) && IsFloat(shape.element_type()));
                       });
  };
  for (const Instruction* parameter : reducer.parameters()) {
    if (!fits(parameter->shape()))
      return complain("takes", fmt::format("`{}`", parameter->shape()));
  }
  if (!fits(reducer.root()->shape()))
    complain("returns", fmt::format("`{}`", reducer.root()->shape()));
}

void CheckArrays(Reports& reports, const Instruction& collective) {
  for (const Instruction* operand : collective.operands()) {
    if (operand->shape().IsArray()) continue;
    return reports.Add(collective.loc(), "`{}` exchanges `{}` of shape `{}`, expected arrays",
                       collective.name(), operand->name(), operand->shape());
  }
}

// Start indices and sizes are scalars. `first`: the operand they begin at.
void CheckScalars(Reports& reports, const Instruction& instruction, int first) {
  for (int i = first; i < instruction.operand_count(); ++i) {
    bool all = true;
    ForEachLeaf(instruction.operand(i)->shape(),
                [&all](Shape leaf, const ShapeIndex&) { all = all && leaf.IsScalar(); });
    if (all) continue;
    return reports.Add(instruction.loc(), "`{}` takes `{}` of shape `{}`, expected scalars",
                       instruction.name(), instruction.operand(i)->name(),
                       instruction.operand(i)->shape());
  }
}

void CheckDynamicReshape(Reports& reports, const Instruction& reshape) {
  CheckScalars(reports, reshape, 1);
}

void CheckPermute(Reports& reports, const Instruction& permute) {
  if (permute.attrs<CollectivePermuteAttrs>().slice_sizes.empty()) {
    CheckArrays(reports, permute);
  } else {
    CheckScalars(reports, permute, 2);
  }
}

void CheckRootsAndGroups(Reports& reports, const Instruction& broadcast) {
  if (const std::string wrong = internal::WrongDevices(broadcast); !wrong.empty())
    return reports.Add(broadcast.loc(), "{}", wrong);
  if (!broadcast.attrs<CollectiveBroadcastAttrs>().has_dynamic_root) return;
  const int64_t count = broadcast.operand_count() - 1;
  const Instruction& roots = *broadcast.operand(static_cast<int>(count));
  const Shape shape = roots.shape();
  if (shape.element_type() == ElementType::kS32 && shape.rank() == 1 && shape.dim(0) == count)
    return;
  reports.Add(broadcast.loc(),
              "the roots of `{}`, `{}`, have shape `{}`, expected `s32[{}]`, one per operand",
              broadcast.name(), roots.name(), shape, count);
}

// Random numbers of as many as nobody says.
void CheckSizeIsKnown(Reports& reports, const Instruction& instruction) {
  if (!instruction.shape().has_dynamic_dims()) return;
  reports.Add(instruction.loc(), "`{}` has shape `{}`, but nothing says how long it is",
              instruction.name(), instruction.shape());
}

// Whether some array of `to` has a size of its own where that of `from` has none.
bool BecomesDynamic(Shape from, Shape to) {
  bool becomes = false;
  ForEachLeaf(to, [&](Shape leaf, const ShapeIndex& index) {
    const Shape before = SubShape(from, index);
    for (int d = 0; leaf.IsArray() && before.IsArray() && d < leaf.rank(); ++d)
      becomes |= leaf.is_dynamic(d) && !before.is_dynamic(d);
  });
  return becomes;
}

void CheckSizes(Reports& reports, const Instruction& instruction, Shape from, Shape to) {
  if (!to.has_dynamic_dims() || !BecomesDynamic(from, to)) return;
  reports.Add(instruction.loc(), "`{}` makes `{}` of `{}`, but nothing says how long it is",
              instruction.name(), to, from);
}

// What is passed on as it is has the sizes that it had.
void CheckPassedOn(Reports& reports, const Instruction& instruction) {
  const bool is_tuple = instruction.opcode() == Opcode::kTuple;
  for (int i = 0; i < instruction.operand_count(); ++i) {
    CheckSizes(reports, instruction, instruction.operand(i)->shape(),
               is_tuple ? instruction.shape().element(i) : instruction.shape());
  }
}

void CheckElement(Reports& reports, const Instruction& get) {
  const auto index = static_cast<int>(get.attrs<GetTupleElementAttrs>().index);
  CheckSizes(reports, get, get.operand(0)->shape().element(index), get.shape());
}

void CheckCopyStart(Reports& reports, const Instruction& start) {
  for (const int i : {0, 1})
    CheckSizes(reports, start, start.operand(0)->shape(), start.shape().element(i));
}

void CheckCopyDone(Reports& reports, const Instruction& done) {
  CheckSizes(reports, done, done.operand(0)->shape().element(0), done.shape());
}

// So has what an asynchronous operation is given, of which an update brings more.
void CheckGiven(Reports& reports, const Instruction& instruction) {
  const Shape given = instruction.shape().element(0);
  if (!given.IsTuple()) {  // that of one array, flat
    if (instruction.opcode() == Opcode::kAsyncStart && instruction.operand_count() == 1)
      CheckSizes(reports, instruction, instruction.operand(0)->shape(), given);
    return;
  }
  int i = 0;
  const auto check = [&](Shape from) {
    if (i < given.element_count_of_tuple())
      CheckSizes(reports, instruction, from, given.element(i));
    ++i;
  };
  int first = 0;
  if (instruction.opcode() == Opcode::kAsyncUpdate) {
    const Shape before = instruction.operand(first++)->shape().element(0);
    if (!before.IsTuple()) return;
    for (const Shape element : before.elements()) check(element);
  }
  for (; first < instruction.operand_count(); ++first) check(instruction.operand(first)->shape());
}

struct MeaningRow {
  Opcode opcode;
  Rule rule;
};
constexpr MeaningRow kMeaningRows[] = {
    {Opcode::kAllReduce, CheckReducer},
    {Opcode::kAllReduceStart, CheckReducer},
    {Opcode::kAllToAll, CheckArrays},
    {Opcode::kAsyncStart, CheckGiven},
    {Opcode::kAsyncUpdate, CheckGiven},
    {Opcode::kBitcast, CheckBitcast},
    {Opcode::kBroadcast, CheckBroadcast},
    {Opcode::kCollectiveBroadcast, CheckRootsAndGroups},
    {Opcode::kCollectivePermute, CheckPermute},
    {Opcode::kCollectivePermuteStart, CheckPermute},
    {Opcode::kCompare, CheckCompare},
    {Opcode::kCopy, CheckPassedOn},
    {Opcode::kCopyDone, CheckCopyDone},
    {Opcode::kCopyStart, CheckCopyStart},
    {Opcode::kDomain, CheckPassedOn},
    {Opcode::kDynamicReshape, CheckDynamicReshape},
    {Opcode::kFft, CheckFft},
    {Opcode::kFusion, CheckFusion},
    {Opcode::kGather, CheckGather},
    {Opcode::kGetTupleElement, CheckElement},
    {Opcode::kMap, CheckMap},
    {Opcode::kOptimizationBarrier, CheckPassedOn},
    {Opcode::kReduce, CheckReduce},
    {Opcode::kReduceScatter, CheckReducer},
    {Opcode::kReduceWindow, CheckReduce},
    {Opcode::kRng, CheckSizeIsKnown},
    {Opcode::kRngBitGenerator, CheckSizeIsKnown},
    {Opcode::kScatter, CheckScatter},
    {Opcode::kSelectAndScatter, CheckSelectAndScatter},
    {Opcode::kSort, CheckSort},
    {Opcode::kTuple, CheckPassedOn},
    {Opcode::kWhile, CheckWhile},
};
constexpr std::array<Rule, kOpcodeCount> kMeaningRules = [] {
  std::array<Rule, kOpcodeCount> rules = {};
  for (const MeaningRow& row : kMeaningRows) rules[static_cast<size_t>(row.opcode)] = row.rule;
  return rules;
}();

Reports LookAtAll(const Module& module) {
  Reports reports;
  for (const Instruction* instruction : AllInstructions(module)) {
    if (const Rule rule = kMeaningRules[static_cast<size_t>(instruction->opcode())])
      rule(reports, *instruction);
  }
  return reports;
}

}  // namespace

bool HasMeaning(const Instruction& instruction) {
  const Rule rule = kMeaningRules[static_cast<size_t>(instruction.opcode())];
  if (rule == nullptr) return true;
  Reports reports;
  rule(reports, instruction);
  return reports.empty();
}

std::vector<Diagnostic> MeaningWarnings(const Module& module) { return LookAtAll(module).Take(); }

absl::Status VerifyMeaning(const Module& module) {
  std::vector<Diagnostic> errors = LookAtAll(module).Take();
  if (errors.empty()) return internal::VerifyChains(module);
  for (Diagnostic& error : errors) {
    if (error.severity == Severity::kWarning) error.severity = Severity::kError;
  }
  return StatusOf(absl::StatusCode::kInvalidArgument, errors);
}

}  // namespace hlo
