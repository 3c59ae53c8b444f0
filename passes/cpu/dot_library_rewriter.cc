#include "passes/cpu/dot_library_rewriter.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "lib/support/json_value.h"
#include "passes/cpu/cpu_libraries.h"
#include "passes/fusion/fuse.h"

namespace hlo {
namespace {

constexpr int kMostInstructions = 100;  // in a fusion that takes in one more

struct LibraryInUse {
  const CpuLibrary* rules;
  LibraryFusionTypes types;
};

std::string ConfigOf(const CpuLibrary& library) {
  return fmt::format(R"({{"outer_dimension_partitions":[],"fusion_config":{{"kind":"{}"}}}})",
                     library.fusion_kind);
}

// A config that cannot be read is that of somebody else; operands that share memory with results
// stay where they are.
bool IsFusionFor(const CpuLibrary& library, const Instruction& x) {
  if (!x.IsFusion() || !x.backend_config().starts_with('{')) return false;
  const auto& attrs = x.attrs<FusionAttrs>();
  if (attrs.kind != FusionKind::kCustom || !attrs.output_to_operand_aliasing.empty()) return false;
  const absl::StatusOr<JsonDocument> document =
      ParseJson(std::make_shared<const Source>("backend_config", std::string(x.backend_config())));
  if (!document.ok()) return false;
  const JsonValue* const fusion_config = document->root.Find("fusion_config");
  const JsonValue* const kind = fusion_config == nullptr ? nullptr : fusion_config->Find("kind");
  return kind != nullptr && kind->text() == library.fusion_kind;
}

class ComputationFuser {
 public:
  ComputationFuser(Computation& computation, absl::Span<const LibraryInUse> libraries,
                   const CpuFeatures& features, PassContext& context)
      : computation_(computation), libraries_(libraries), features_(features), context_(context) {}

  bool Run() {
    for (Instruction* x : Beginnings()) {
      // Taken in by a fusion that began elsewhere, or left to dce: a fusion of what nobody reads
      // would have no result.
      if (x->is_dead() || x->parent() != &computation_ || !x->is_used()) continue;
      const LibraryInUse* const in_use = LibraryFor(*x);
      if (in_use == nullptr) continue;
      if (!MayRewrite()) return changed_;
      context_.Passed(*x, "becomes `{}`", in_use->rules->fusion_name);
      context_.Count("fusions");
      library_ = in_use->rules;
      fusion_ = Fuse({&x, 1}, {.kind = FusionKind::kCustom, .name = library_->fusion_name});
      NameLibrary();
      if (!grows_) continue;
      while (TakeInNeighbours()) {
      }
    }
    return changed_;
  }

 private:
  enum class Direction : uint8_t { kUp, kDown, kBoth };
  struct Candidate {
    Instruction* instruction;
    Direction direction;
  };

  // The result first; functions of elements last.
  std::vector<Instruction*> Beginnings() const {
    std::vector<Instruction*> heavy, functions;
    std::vector<Instruction*> order = computation_.PostOrder();
    for (size_t i = order.size(); i-- > 0;) {
      Instruction* const x = order[i];
      bool may_begin = false;
      for (const LibraryInUse& in_use : libraries_) may_begin |= in_use.types.MayBegin(*x);
      if (may_begin) (HasTrait(x->opcode(), kElementwise) ? functions : heavy).push_back(x);
    }
    heavy.insert(heavy.end(), functions.begin(), functions.end());
    return heavy;
  }

  const LibraryInUse* LibraryFor(const Instruction& x) {
    if (x.has_control_edges()) {
      context_.Missed(x, "it has control edges");
      return nullptr;
    }
    for (const LibraryInUse& in_use : libraries_) {
      if (!in_use.rules->begins(x, in_use.types)) continue;
      const Decision takes = in_use.rules->takes(x, features_);
      if (takes) {
        grows_ = in_use.types.Grows(x);
        return &in_use;
      }
      context_.Missed(x, takes.reason());
    }
    return nullptr;
  }

  // One look around the fusion; whether it has grown.
  bool TakeInNeighbours() {
    candidates_.clear();
    seen_ = {fusion_};
    AddCandidates(*fusion_, Direction::kBoth);
    bool grown = false;
    while (!candidates_.empty() &&
           fusion_->fused_computation()->instruction_count() < kMostInstructions) {
      auto [x, direction] = candidates_.front();
      candidates_.pop_front();
      const bool merges = IsFusionFor(*library_, *x);
      if (!merges) {
        if (const Decision takes = library_->takes(*x, features_); !takes) {
          if (!x->IsFusion()) context_.Missed(*x, takes.reason());
          continue;
        }
        AddCandidates(*x, direction);
      }
      if (!MayRewrite()) return false;
      context_.Passed(*x, "fused with `{}`", fusion_->name());
      context_.Count(merges ? "merged" : "fused");
      if (merges && direction == Direction::kDown) std::swap(fusion_, x);
      if (merges) {
        TakeInFusion(x);
      } else if (direction == Direction::kUp) {
        TakeIn(x);
      } else {
        TakeOver(fusion_, x);
        NameLibrary();
      }
      grown = true;
    }
    return grown;
  }

  void NameLibrary() { fusion_->mutable_extras().backend_config = ConfigOf(*library_); }

  void TakeIn(Instruction* operand) {
    Absorb(operand, fusion_);
    computation_.Remove(operand);
  }

  // One instruction after the other, readers first: so XLA lists what the fusion reads then.
  void TakeInFusion(Instruction* operand) {
    Computation* const body = operand->fused_computation();
    InlinedInstructions inlined;
    Unfuse(operand, &inlined);
    if (body->callers().empty()) body->module().RemoveComputation(body);
    std::vector<Instruction*>& parts = inlined[operand];
    std::for_each(parts.rbegin(), parts.rend(), [this](Instruction* part) { TakeIn(part); });
  }

  // Neighbours of `x`, which is the fusion or about to be in it, that nobody outside reads.
  void AddCandidates(const Instruction& x, Direction direction) {
    if (direction != Direction::kDown) {
      for (Instruction* operand : x.operands()) {
        if (operand->is_root() || operand->has_control_edges() || seen_.contains(operand)) continue;
        const absl::Span<const Use> uses = operand->uses();
        if (!absl::c_all_of(uses,
                            [&](const Use& use) { return use.user == fusion_ || use.user == &x; }))
          continue;
        seen_.insert(operand);
        candidates_.push_back({operand, Direction::kUp});
      }
    }
    if (direction == Direction::kUp || !x.has_one_user() || x.is_root()) return;
    Instruction* const user = x.uses()[0].user;
    if (user->has_control_edges() || !seen_.insert(user).second) return;
    candidates_.push_back({user, Direction::kDown});
  }

  bool MayRewrite() {
    if (!context_.MayRewrite()) return false;
    changed_ = true;
    return true;
  }

  Computation& computation_;
  absl::Span<const LibraryInUse> libraries_;
  const CpuFeatures& features_;
  PassContext& context_;
  bool changed_ = false;
  // Of the fusion that grows.
  const CpuLibrary* library_ = nullptr;
  Instruction* fusion_ = nullptr;
  bool grows_ = false;
  std::deque<Candidate> candidates_;
  absl::flat_hash_set<const Instruction*> seen_;
};

}  // namespace

absl::StatusOr<bool> DotLibraryRewriter::Run(Module& module, PassContext& context) {
  std::vector<LibraryInUse> libraries;
  if (options_.use_onednn && !options_.onednn_fusion_type.empty())
    libraries.push_back({&kOneDnn, options_.onednn_fusion_type});
  if (!options_.ynn_fusion_type.empty()) libraries.push_back({&kYnnPack, options_.ynn_fusion_type});
  const CpuFeatures features{.avx512_bf16 = options_.avx512_bf16,
                             .avx512_fp16 = options_.avx512_fp16};
  return ChangesAny(context.ControlFlowComputations(module), [&](Computation& computation) {
    return ComputationFuser(computation, libraries, features, context).Run();
  });
}

HLO_DEFINE_PASS(DotLibraryRewriter)

}  // namespace hlo
