#include "passes/simplify/recognize_reduce_window.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/region.h"
#include "lib/ir/async_chain.h"
#include "passes/rewrite.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

constexpr size_t kMaxPieces = 1024;
constexpr OpcodeSet kWindowed = {Opcode::kAdd,     Opcode::kSubtract, Opcode::kMultiply,
                                 Opcode::kMaximum, Opcode::kMinimum,  Opcode::kAnd,
                                 Opcode::kOr,      Opcode::kXor};

// A leaf of a sum, counted `weight` times.
struct WeightedTerm {
  Instruction* value;
  double weight;
};

// Elements of `source`, of which `starts` is the first; where there are none, `fill`.
struct WindowPiece {
  Instruction* source = nullptr;
  Instruction* fill = nullptr;  // of paddings
  std::vector<int64_t> starts;
  std::vector<int64_t> strides;
};

// Pieces that differ along one dimension only, by equal steps, in the order of their starts.
struct SlidingPieces {
  std::vector<WindowPiece> pieces;
  size_t dimension = 0;
  int64_t step = 0;
};

// ---- terms of sums ----

// The number that every element of `value` is.
std::optional<double> UniformNumber(const Instruction* value) {
  if (value->opcode() == Opcode::kBroadcast) value = value->operand(0);
  if (!value->IsConstant() || value->literal().is_elided() || value->shape().IsZeroSized() ||
      IsComplex(value->shape().element_type()) ||
      value->shape().element_type() == ElementType::kPred)
    return std::nullopt;
  const double number = value->literal().GetDouble();
  if (!value->literal().IsAll(number)) return std::nullopt;
  return number;
}

// The leaves of the sum `root` from left to right; none if there are too many.
std::vector<WeightedTerm> TermsOf(Instruction* root) {
  std::vector<WeightedTerm> terms;
  std::vector<WeightedTerm> pending = {{root, 1}};
  while (!pending.empty()) {
    if (terms.size() + pending.size() > kMaxPieces) return {};
    const auto [value, weight] = pending.back();
    pending.pop_back();
    const bool may_look = value == root || !value->has_control_edges();
    const bool is_difference = value->opcode() == Opcode::kSubtract;
    if (may_look && (value->opcode() == Opcode::kAdd || is_difference)) {
      pending.push_back({value->operand(1), is_difference ? -weight : weight});
      pending.push_back({value->operand(0), weight});
      continue;
    }
    if (may_look && value->opcode() == Opcode::kMultiply) {
      const std::optional<double> left = UniformNumber(value->operand(0));
      const std::optional<double> factor = left ? left : UniformNumber(value->operand(1));
      if (factor) {
        pending.push_back({value->operand(left ? 1 : 0), weight * *factor});
        continue;
      }
    }
    terms.push_back({value, weight});
  }
  return terms;
}

// Each value once, those that cancel not at all.
std::vector<WeightedTerm> AddedUp(const std::vector<WeightedTerm>& terms) {
  std::vector<WeightedTerm> sum;
  absl::flat_hash_map<const Instruction*, size_t> places;  // looked up only
  for (const WeightedTerm& term : terms) {
    const auto [it, is_new] = places.emplace(term.value, sum.size());
    if (is_new) {
      sum.push_back(term);
    } else {
      sum[it->second].weight += term.weight;
    }
  }
  std::erase_if(sum, [](const WeightedTerm& term) { return term.weight == 0; });
  return sum;
}

// ---- leaves of other trees ----

bool IsInnerOfTree(const Instruction& op) {
  return op.use_count() == 1 && !op.is_root() && op.uses()[0].user->opcode() == op.opcode() &&
         !op.has_control_edges();
}

// The leaves of the tree of `root`'s operation whose inner values nobody else reads.
std::vector<Instruction*> TreeLeaves(Instruction* root) {
  std::vector<Instruction*> leaves;
  std::vector<Instruction*> pending = {root};
  while (!pending.empty()) {
    if (leaves.size() + pending.size() > kMaxPieces) return {};
    Instruction* node = pending.back();
    pending.pop_back();
    const bool is_inner = node->opcode() == root->opcode() && !node->has_control_edges() &&
                          (node == root || node->use_count() == 1);
    if (!is_inner) {
      leaves.push_back(node);
      continue;
    }
    pending.push_back(node->operand(1));
    pending.push_back(node->operand(0));
  }
  return leaves;
}

// ---- pieces ----

std::optional<WindowPiece> PieceOfDynamicSlice(const Instruction& slice) {
  WindowPiece piece = {slice.operand(0), nullptr, {}, {}};
  for (int d = 0; d < slice.shape().rank(); ++d) {
    const Instruction& start = *slice.operand(d + 1);
    if (!start.IsConstant() || start.literal().is_elided() || !start.shape().IsScalar())
      return std::nullopt;
    const int64_t last = slice.operand(0)->shape().dim(d) - slice.shape().dim(d);
    piece.starts.push_back(std::clamp<int64_t>(start.literal().GetInt(), 0, last));
    piece.strides.push_back(1);
  }
  return piece;
}

std::optional<WindowPiece> PieceOfPad(const Instruction& pad) {
  if (!pad.operand(1)->IsConstant()) return std::nullopt;
  WindowPiece piece = {pad.operand(0), pad.operand(1), {}, {}};
  for (int d = 0; d < pad.shape().rank(); ++d) {
    const PaddingDim& padding = pad.attrs<PadAttrs>().padding[d];
    if (padding.interior != 0) return std::nullopt;
    piece.starts.push_back(-padding.low);
    piece.strides.push_back(1);
  }
  return piece;
}

std::optional<WindowPiece> PieceOf(Instruction* value) {
  value = ThroughTuples(value);
  std::optional<WindowPiece> piece;
  if (value->opcode() == Opcode::kSlice) {
    piece = {ThroughTuples(value->operand(0)), nullptr, {}, {}};
    for (const SliceRange& range : value->attrs<SliceAttrs>().slice) {
      piece->starts.push_back(range.start);
      piece->strides.push_back(range.stride);
    }
  } else if (value->opcode() == Opcode::kDynamicSlice) {
    piece = PieceOfDynamicSlice(*value);
  } else if (value->opcode() == Opcode::kPad) {
    piece = PieceOfPad(*value);
  }
  if (piece) piece->source = ThroughTuples(piece->source);
  return piece;
}

// The pieces that a window of `opcode` reads, if it slides along one dimension and inside of what
// it reads.
std::vector<WindowPiece> PiecesOfWindow(const Instruction& reduce, Opcode opcode) {
  if (reduce.operand_count() != 2 || CombinerOpcode(*reduce.to_apply()) != opcode ||
      !IsIdentityOf(opcode, *reduce.operand(1)))
    return {};
  const Window& window = reduce.attrs<ReduceWindowAttrs>().window;
  std::optional<WindowPiece> base = PieceOf(reduce.operand(0));
  if (!base || base->strides != std::vector<int64_t>(window.dims.size(), 1)) {
    base = {reduce.operand(0), nullptr, std::vector<int64_t>(window.dims.size(), 0),
            std::vector<int64_t>(window.dims.size(), 1)};
  }
  std::optional<size_t> along;
  for (size_t d = 0; d < window.dims.size(); ++d) {
    const WindowDim& dim = window.dims[d];
    if (dim.pad_low > 0 || dim.pad_high > 0 || dim.base_dilation != 1) return {};
    base->starts[d] -= dim.pad_low;
    base->strides[d] = dim.stride;
    if (dim.size == 1) continue;
    if (along) return {};
    along = d;
  }
  if (!along || static_cast<size_t>(window.dims[*along].size) > kMaxPieces ||
      (base->fill != nullptr && base->strides != std::vector<int64_t>(window.dims.size(), 1)))
    return {};
  std::vector<WindowPiece> pieces;
  for (int64_t i = 0; i < window.dims[*along].size; ++i) {
    pieces.push_back(*base);
    base->starts[*along] += window.dims[*along].window_dilation;
  }
  return pieces;
}

// What the leaves of a tree of `opcode` read; none unless all of them are pieces.
std::vector<WindowPiece> PiecesOf(const std::vector<Instruction*>& leaves, Opcode opcode) {
  std::vector<WindowPiece> pieces;
  for (Instruction* leaf : leaves) {
    if (leaf->opcode() == Opcode::kReduceWindow) {
      const std::vector<WindowPiece> several = PiecesOfWindow(*leaf, opcode);
      if (several.empty()) return {};
      pieces.insert(pieces.end(), several.begin(), several.end());
    } else if (std::optional<WindowPiece> piece = PieceOf(leaf)) {
      pieces.push_back(std::move(*piece));
    } else {
      return {};
    }
    if (pieces.size() > kMaxPieces) return {};
  }
  return pieces;
}

bool SameFill(const WindowPiece& a, const WindowPiece& b) {
  if (a.fill == nullptr || b.fill == nullptr) return a.fill == b.fill;
  return a.fill == b.fill ||
         (!a.fill->literal().is_elided() && a.fill->literal() == b.fill->literal());
}

std::optional<SlidingPieces> FindSliding(std::vector<WindowPiece> pieces) {
  std::optional<size_t> dimension;
  for (const WindowPiece& piece : pieces) {
    if (piece.source != pieces[0].source || piece.strides != pieces[0].strides ||
        !SameFill(piece, pieces[0]))
      return std::nullopt;
    for (size_t d = 0; d < piece.starts.size(); ++d) {
      if (piece.starts[d] == pieces[0].starts[d]) continue;
      if (dimension && *dimension != d) return std::nullopt;
      dimension = d;
    }
  }
  if (!dimension) return std::nullopt;
  const size_t along = *dimension;
  absl::c_sort(pieces, [&](const WindowPiece& a, const WindowPiece& b) {
    return a.starts[along] < b.starts[along];
  });
  const int64_t step = pieces[1].starts[along] - pieces[0].starts[along];
  for (size_t i = 1; i < pieces.size(); ++i)
    if (step <= 0 || pieces[i].starts[along] - pieces[i - 1].starts[along] != step)
      return std::nullopt;
  return SlidingPieces{std::move(pieces), along, step};
}

// ---- what takes their place ----

// op(piece(x), op(piece(x), …))  =>  reduce-window(x)
Instruction* SlidingWindow(const SlidingPieces& found, Opcode opcode, Shape shape,
                           Rewriter& rewriter) {
  const std::optional<Literal> identity = IdentityOf(opcode, shape.element_type());
  if (!identity) return nullptr;
  const WindowPiece& first = found.pieces[0];
  Instruction* x = first.source;
  ReduceWindowAttrs attrs;
  PaddingConfig padding;
  for (size_t d = 0; d < first.starts.size(); ++d) {
    WindowDim& window = attrs.window.dims.emplace_back();
    window.stride = first.strides[d];
    if (d == found.dimension) {
      window.size = static_cast<int64_t>(found.pieces.size());
      window.window_dilation = found.step;
    }
    const int64_t positions = shape.dim(static_cast<int>(d));
    const int64_t read = (positions - 1) * window.stride + window.DilatedWindow();
    window.pad_low = -first.starts[d];
    window.pad_high = first.starts[d] + read - x->shape().dim(static_cast<int>(d));
    if (first.fill == nullptr) continue;
    padding.dims.push_back({window.pad_low, window.pad_high, 0});
    window.pad_low = window.pad_high = 0;
  }
  if (first.fill != nullptr) x = rewriter.Pad(x, first.fill, padding);
  return rewriter.OpWithShape(Opcode::kReduceWindow, shape, {x, rewriter.Constant(*identity)},
                              AttrsPtr::Make(std::move(attrs)),
                              {ScalarComputation(rewriter.module(), opcode, shape.element_type())});
}

// A sum of at most two terms; null where it takes more to write it.
Instruction* ShortSum(const std::vector<WeightedTerm>& sum, Instruction* root, Rewriter& rewriter) {
  if (sum.empty()) return rewriter.ConstantLike(root, 0);
  if (sum.size() == 1) {
    Instruction* const value = sum[0].value;
    if (sum[0].weight == 1) return value;
    return rewriter.Multiply(value, rewriter.ConstantLike(root, sum[0].weight));
  }
  if (sum.size() != 2) return nullptr;
  if (sum[0].weight == 1 && sum[1].weight == 1) return rewriter.Add(sum[0].value, sum[1].value);
  if (sum[0].weight == 1 && sum[1].weight == -1)
    return rewriter.Subtract(sum[0].value, sum[1].value);
  if (sum[0].weight == -1 && sum[1].weight == 1)
    return rewriter.Subtract(sum[1].value, sum[0].value);
  return nullptr;
}

// Whether numbers of the type can be counted so.
bool HoldsWeights(const std::vector<WeightedTerm>& sum, ElementType type) {
  constexpr double kMostOfIntegers = 127;  // of those that have 8 bits
  return absl::c_all_of(sum, [&](const WeightedTerm& term) {
    if (term.weight == 1 || term.weight == -1) return true;
    if (!IsInteger(type)) return IsFloat(type) && std::isfinite(term.weight);
    return Info(type).bits >= 8 && term.weight == std::trunc(term.weight) && term.weight >= 0 &&
           term.weight <= kMostOfIntegers;
  });
}

class WindowFinder {
 public:
  WindowFinder(Computation& computation, PassContext& context)
      : computation_(computation), context_(context) {}

  // Users first, so that the largest trees are found.
  absl::StatusOr<bool> Run() {
    bool changed = false;
    const std::vector<Instruction*> order = computation_.PostOrder();
    for (size_t i = order.size(); i-- > 0;) {
      Instruction* const root = order[i];
      if (root->is_dead() || !kWindowed.Has(root->opcode()) || !root->shape().IsArray() ||
          root->shape().rank() == 0 || root->shape().has_dynamic_dims() ||
          root->shape().IsZeroSized() || !(root->is_root() || root->has_uses()))
        continue;
      if (!context_.MayRewrite()) return changed;
      const uint32_t first_new = computation_.module().id_limit();
      Rewriter rewriter(&computation_, context_, root);
      const bool is_sum = root->opcode() == Opcode::kAdd || root->opcode() == Opcode::kSubtract;
      Instruction* const found = is_sum ? Sum(root, rewriter) : Tree(root, rewriter);
      RETURN_IF_ERROR(rewriter.status());
      if (found == nullptr) continue;
      context_.Passed(*root, "`{}` takes its place", found->name());
      context_.Count(found->opcode() == Opcode::kReduceWindow ? "windows" : "sums");
      Replace(root, found, first_new);
      changed = true;
    }
    return changed;
  }

 private:
  static Instruction* Sum(Instruction* root, Rewriter& rewriter) {
    const std::vector<WeightedTerm> terms = TermsOf(root);
    const ElementType type = root->shape().element_type();
    constexpr int kLeastBits = 16;  // floats with fewer differ by their first digit in each order
    if (terms.empty() || (IsFloat(type) && BitWidth(type) < kLeastBits) ||
        type == ElementType::kPred || !IdentityOf(Opcode::kAdd, type) || !HoldsWeights(terms, type))
      return nullptr;
    const std::vector<WeightedTerm> sum = AddedUp(terms);
    std::vector<Instruction*> leaves;
    for (const WeightedTerm& term : sum) {
      if (!SameShape(*term.value, *root)) return nullptr;  // floats of several widths
      if (term.weight == 1) leaves.push_back(term.value);
    }
    if (leaves.size() == sum.size() && !sum.empty()) {
      Instruction* const window =
          Window(leaves, Opcode::kAdd, /*least=*/2, root->shape(), rewriter);
      if (window != nullptr) return window;
    }
    if (sum.size() == terms.size() || !HoldsWeights(sum, type)) return nullptr;
    return ShortSum(sum, root, rewriter);
  }

  static Instruction* Tree(Instruction* root, Rewriter& rewriter) {
    if (IsInnerOfTree(*root)) return nullptr;
    const std::vector<Instruction*> leaves = TreeLeaves(root);
    if (!absl::c_all_of(leaves, [&](const Instruction* leaf) { return SameShape(*leaf, *root); }))
      return nullptr;
    return Window(leaves, root->opcode(), /*least=*/3, root->shape(), rewriter);
  }

  static bool SameShape(const Instruction& leaf, const Instruction& root) {
    return Compatible(leaf.shape(), root.shape());
  }

  static Instruction* Window(const std::vector<Instruction*>& leaves, Opcode opcode, size_t least,
                             Shape shape, Rewriter& rewriter) {
    std::vector<WindowPiece> pieces = PiecesOf(leaves, opcode);
    if (pieces.size() < least || leaves.size() < 2) return nullptr;
    const std::optional<SlidingPieces> found = FindSliding(std::move(pieces));
    if (!found || found->pieces[0].source->shape().has_dynamic_dims()) return nullptr;
    return SlidingWindow(*found, opcode, shape, rewriter);
  }

  void Replace(Instruction* root, Instruction* found, uint32_t first_new) const {
    const std::vector<Instruction*> operands = root->operand_vector();
    ReplaceKeepingExtras(root, found, first_new);
    for (Instruction* operand : operands) {
      if (!operand->is_dead() && !operand->has_uses() && !operand->is_root() &&
          !operand->has_control_edges() && operand->opcode() != Opcode::kParameter &&
          !operand->HasSideEffect())
        computation_.RemoveUnused(operand);
    }
  }

  Computation& computation_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> RecognizeReduceWindow::Run(Module& module, PassContext& context) {
  return ChangesAny(context.NonFusionComputations(module, kWindowed),
                    [&](Computation& computation) -> absl::StatusOr<bool> {
                      if (IsAsyncBody(computation)) return false;  // holds one operation
                      return WindowFinder(computation, context).Run();
                    });
}

HLO_DEFINE_PASS(RecognizeReduceWindow)

}  // namespace hlo
