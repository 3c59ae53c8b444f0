// backends/cpu/families/fusion_emitter.h
//
// Emits the elements of fused HLO as tile IR: Emit(instruction, index) is the value of one element,
// or of as many elements as the current loop has lanes, computed where its operands are known
// (tile/builder.h moves it out of loops). Indices are symbolic (affine.h); what does not fit the
// loops corrects the plan (loop_plan.h).
//
// A `reduce` is an expression, too: its loops are put where its index is known, so softmax comes
// out as rows of three loops, a column sum as one loop around a vector of columns.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/codegen/movement.h"
#include "backends/cpu/families/affine.h"
#include "backends/cpu/families/loop_plan.h"
#include "backends/cpu/tile/builder.h"
#include "lib/ir/computation.h"
#include "lib/ir/instruction.h"
#include "passes/fusion/rolls.h"

namespace hlo::cpu {

using tile::Value;
using tile::Values;

class Fold;

// Elements of a row that are too few to be shared out among lanes: each lane reduces a row.
inline constexpr int64_t kFewInRow = 4;

class FusionEmitter {
 public:
  FusionEmitter(tile::TileBuilder& b, LoopPlan& plan, int base_lanes)
      : b_(b), plan_(plan), base_lanes_(base_lanes) {}

  // The elements of `instruction` lie in a buffer of the kernel (a tuple's leaves in consecutive
  // ones).
  void BindBuffer(const Instruction* instruction, int first_buffer) {
    buffers_[instruction] = first_buffer;
  }

  // ---- values ----

  // Element `index` of the array `instruction`.
  absl::StatusOr<Value> Emit(const Instruction* instruction, const Index& index);
  // Element `index` of result `result` of a reduce (0 for all other instructions).
  absl::StatusOr<Value> EmitResult(const Instruction* instruction, int result, const Index& index);
  // The result of a scalar computation (several for a tuple root) on scalars or vectors of them.
  absl::StatusOr<Values> EmitRegion(const Computation& computation,
                                    absl::Span<const Value> arguments);

  // ---- loops ----

  // Loops over a nest. Consecutive joined dimensions are one group, run by one loop.
  struct Group {
    size_t first = 0, last = 0;  // loop dimensions
    int64_t size = 1;
    Value index = tile::kNoValue;
    int lanes = 1;       // the index is that of lane 0
    int depth = -1;      // of the loop's block; -1: not open, or a single iteration
    int tile = 1;        // iterations its body emits at once,
    int64_t offset = 0;  // of which this one is being emitted
  };
  struct ActiveNest {
    Nest* plan = nullptr;       // for corrections
    std::vector<LoopDim> dims;  // as the loops are
    int number = 0;
    std::vector<int32_t> variables;  // per loop dimension
    std::vector<Group> groups;
    std::vector<int> levels = {1};  // lanes of the last group's loops, descending
    bool repeats = false;           // it does no harm to compute an element twice
    bool overlaps = false;          // the last vector ends where the last group does (below)
    int tile_group = -1;            // runs in tiles of levels[0], transposed in registers, or
    bool written_out = false;       // all its iterations are emitted inside of the other loops
    int64_t most_written_out = 1;   // iterations of a loop without lanes that get no loop
    std::function<absl::Status(size_t)> on_enter;  // called where groups 0 … g - 1 are running
  };
  ActiveNest& Open(int owner, absl::Span<const int64_t> sizes);
  // The index of an element of the nest's array.
  Index IndexOf(const ActiveNest& nest, int rank) const;
  using Body = std::function<absl::StatusOr<Values>(const Values&)>;
  // Runs `body` over groups `g`… of the nest; what it returns is carried to the next iteration.
  absl::StatusOr<Values> Loop(ActiveNest& nest, size_t g, Values carried, const Body& body);
  // The same with bounds for group g.
  absl::StatusOr<Values> LoopBetween(ActiveNest& nest, size_t g, Value lo, Value hi, Values carried,
                                     const Body& body);
  // Lanes of the loop that is being emitted.
  int lanes() const { return lanes_; }
  // Lanes for the last group of the nest: at most `lanes`, and what the plan allows, so that little
  // is left over.
  std::vector<int> LevelsFor(const ActiveNest& nest, int lanes) const;
  // Where elements may be computed twice, the last vector of the loop over all of them may begin
  // earlier than the one before it ends: then no elements are left over for code of their own.
  static void LetOverlap(ActiveNest& nest);
  // Lanes of the loops that group `g` runs in, one after the other.
  std::vector<int> LevelsOf(const ActiveNest& nest, size_t g) const;

  // ---- addresses ----

  // Where lane 0 is, and how far apart lanes are; or an index per lane.
  struct Address {
    Value base = tile::kNoValue;
    int64_t step = 0;
    int lanes = 1;
    bool per_lane = false;
  };
  Address ToAddress(const Affine& affine);
  // The value of `affine` in every lane.
  Value ToValue(const Affine& affine);

  // A reduce runs outside all loops: the kernel must be one task.
  bool has_outer_reduce() const { return has_outer_reduce_; }

  tile::TileBuilder& builder() { return b_; }
  LoopPlan& plan() { return plan_; }

  // ---- for the emitters of single opcodes (emit_*.cc) ----

  struct Range {
    int64_t lo, hi;  // inclusive
  };
  using Condition = PositionRange<Affine>;
  Range RangeOf(const Affine& affine) const;
  // A variable for a value only known at run time.
  Affine Opaque(Value value, Range range);
  // affine = quotient * divisor + remainder, 0 <= remainder < divisor, whatever signs there are.
  std::pair<Affine, Affine> DivRem(const Affine& affine, int64_t divisor);
  // The index in an array of `to` that has the same linear index as `index` in an array of `from`.
  Index MapReshape(absl::Span<const int64_t> from, absl::Span<const int64_t> to,
                   const Index& index);
  using Emission = std::function<absl::StatusOr<Value>()>;
  // `on_true` where all conditions hold, else `on_false`. Where lanes differ, both are emitted for
  // all of them, and loads of `on_true` touch memory only where the conditions hold; so do those of
  // `on_false` where they do not hold, if it is kMasked.
  absl::StatusOr<Value> Guarded(const std::vector<Condition>& conditions, const Emission& on_true,
                                const Emission& on_false, Outside outside = Outside::kAnywhere);
  // What ScalarRegion and Movement want to know.
  static constexpr std::string_view kPlatform = "cpu";
  static constexpr bool kTakesArrays = false;
  using ValueType = Value;
  using ValueList = Values;
  absl::StatusOr<Value> ScalarConstant(const Instruction& i) { return EmitConstant(&i, {}); }
  absl::StatusOr<Value> ApplyElementwise(const Instruction& instruction,
                                         absl::Span<const Value> operands);
  using IndexType = Index;
  using PositionType = Affine;
  using PositionList = Index;
  static const Index& PositionsOf(const Index& index) { return index; }
  static Index IndexAt(const Instruction&, Index positions) { return positions; }
  Value Zero(ElementType type) { return b_.Constant(type, {0, 0}); }
  static Affine Number(int64_t value) { return Affine::Constant(value); }
  static Affine Plus(const Affine& a, const Affine& b) { return Sum(a, b, 1); }
  static Affine Minus(const Affine& a, const Affine& b) { return Sum(a, b, -1); }
  static Affine Times(const Affine& a, int64_t n) { return Sum(Affine(), a, n); }
  Value LoadElement(int buffer, const Affine& address);
  Value EmitLiteral(const Literal& literal, int64_t linear);
  Value Reversed(Value v);
  // Rows a[0][…], a[1][…], … as columns.
  std::vector<Value> Transposed(std::vector<Value> rows);
  // Elements a[0], b[0], …, a[1], b[1], … of as many vectors, `parts`.
  std::vector<Value> Interleaved(absl::Span<const Value> parts);
  // A scalar integer element as an index, limited to [0, limit].
  absl::StatusOr<Affine> ClampedStart(const Instruction* instruction, const Index& index,
                                      int64_t limit);

 private:
  // a + scale * b
  static Affine Sum(Affine a, const Affine& b, int64_t scale) {
    a.Add(b, scale);
    return a;
  }
  struct Variable {
    Range range;
    Value value = tile::kNoValue;  // opaque variables
    int nest = -1;                 // loop variables: number of the nest
    size_t dim = 0;
    uint64_t epoch = 0;  // changes with every loop that runs it
  };
  struct Memo {
    const Instruction* instruction;
    int result;
    Value mask;
    Index index;
    Value value;
  };

  absl::StatusOr<Value> EmitUncached(const Instruction* instruction, int result,
                                     const Index& index);
  absl::StatusOr<Value> EmitElementwise(const Instruction* instruction, const Index& index);
  absl::StatusOr<Value> EmitReshape(const Instruction* instruction, const Index& index);
  absl::StatusOr<Value> EmitConcatenate(const Instruction* instruction, const Index& index);
  bool SeparateFromLanes(const Affine& affine);
  Affine PlaceInRoll(const Roll& roll, const Affine& affine);
  absl::StatusOr<Value> EmitElementOfTuple(const Instruction* instruction, const Index& index);
  absl::StatusOr<Value> EmitIota(const Instruction* instruction, const Index& index);
  absl::StatusOr<Value> EmitConstant(const Instruction* instruction, const Index& index);
  absl::StatusOr<Value> EmitReduce(const Instruction* instruction, int result, const Index& index);
  absl::StatusOr<Value> EmitReduceWindow(const Instruction* instruction, int result,
                                         const Index& index);
  struct Reduction;
  void KeepLanesForRows(const Index& index);
  absl::StatusOr<Values> ReduceStep(Reduction& r, const ActiveNest& nest, const Values& before);
  absl::StatusOr<Values> ReduceLoop(Reduction& r, Values initial);
  absl::StatusOr<Values> ReduceInBlocks(Reduction& r, ActiveNest& nest, Values carried,
                                        const Body& body);
  absl::StatusOr<Values> CombineLevels(const Fold& fold, const Values& carried, size_t levels,
                                       Values initial);

  uint64_t HashOf(const Instruction* instruction, int result, const Index& index) const;
  // Costly elements of a row that are wanted again after the reduction that computes them are kept
  // in scratch memory.
  struct KeptRow {
    const Instruction* instruction;
    Index index;                 // of the row; entries of the reduced dimensions are not looked at
    std::vector<int64_t> sizes;  // of the reduced dimensions, 1 for the others
    int buffer;
    Value made;           // visible where the row is complete
    uint64_t epochs = 0;  // of the row's variables: written-out iterations see each other's values
  };
  // A hash of the epochs of the variables in `index`, but for those along the row.
  uint64_t EpochsOf(const Index& index, const std::vector<int64_t>& row_sizes) const;
  std::vector<const Instruction*> RowsToKeep(const Instruction* reduce) const;
  // Reduces on the longest way from `instruction` to its operands.
  int ReduceDepth(const Instruction* instruction);
  bool IsAnyCostly(const Instruction& root) const;
  std::optional<Value> LoadKept(const Instruction* instruction, const Index& index);
  std::optional<Value> LoadTransposed(int buffer, const Affine& affine, const Address& address);
  Address InBounds(int buffer, const Affine& affine, Address address);
  // With loads that touch memory only where `mask` holds, too.
  absl::StatusOr<Value> Masked(Value mask, const Emission& emission);
  bool DependsOnLanes(const Affine& affine) const;
  // Takes the loop of `term` apart where it steps over whole multiples of the divisor.
  bool SplitForDivision(const Term& term, int64_t divisor);
  int DepthOf(const Index& index) const;
  std::optional<std::pair<Nest*, size_t>> LoopDimOf(int32_t variable) const;
  std::optional<Value> FindMemo(const Instruction* instruction, int result,
                                const Index& index) const;
  absl::StatusOr<Values> LoopToTheEnd(ActiveNest& nest, int64_t first, int64_t end, Values carried,
                                      const Body& body);
  absl::StatusOr<Values> LoopSegment(ActiveNest& nest, size_t g, Value lo, Value hi, Values carried,
                                     const Body& body);
  absl::StatusOr<Values> Iteration(ActiveNest& nest, size_t g, int lanes, Values carried,
                                   const Body& body);
  absl::StatusOr<Values> LoopLevel(ActiveNest& nest, size_t g, Value lo, Value hi, int lanes,
                                   Values carried, const Body& body);

  tile::TileBuilder& b_;
  LoopPlan& plan_;
  int base_lanes_;
  int lanes_ = 1;
  Value mask_ = tile::kNoValue;  // lanes whose loads must not touch memory, when conditional
  bool in_vain_ = false;         // what is emitted may be wanted by no lane, and of no element
  uint64_t last_epoch_ = 0;
  bool has_outer_reduce_ = false;
  std::vector<Variable> variables_;
  std::vector<std::unique_ptr<ActiveNest>> nests_;  // by number
  absl::flat_hash_map<const Instruction*, int> buffers_;
  absl::flat_hash_map<uint64_t, std::vector<Memo>> memo_;
  absl::flat_hash_map<const Instruction*, int> constant_buffers_;
  struct TransposedTile {
    int buffer;
    Value base;
    int64_t step;
    std::vector<Value> columns;
  };
  std::vector<TransposedTile> tiles_;
  std::vector<KeptRow> kept_rows_;
  absl::flat_hash_map<const Instruction*, int> reduce_depths_;
};

}  // namespace hlo::cpu
