#include "passes/rewrite.h"

#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/control_edges.h"
#include "lib/support/diagnostic.h"
#include "passes/rule_names.h"
#include "passes/util/caller_sharding.h"
#include "passes/util/discard.h"
#include "passes/util/layout_copy.h"
#include "passes/util/origins.h"
#include "passes/util/plain_fusion.h"

namespace hlo {
namespace {

// One run of a rule set over one computation.
class Driver {
 public:
  Driver(Computation& computation, const RuleSet& rules, PassContext& context,
         const Instruction* skip)
      : computation_(computation),
        rules_(rules),
        context_(context),
        skip_(skip),
        limit_(10'000 + 100 * int64_t{computation.instruction_count()}) {}

  absl::StatusOr<bool> Run() {
    if (!HasPlaces()) return false;
    for (Instruction* instruction : computation_.PostOrder()) Enqueue(instruction);
    bool changed = false;
    while (!worklist_.empty()) {
      Instruction* instruction = worklist_.front();
      worklist_.pop_front();
      queued_.erase(instruction);
      if (instruction->is_dead() || instruction == skip_) continue;
      if (!instruction->is_used()) continue;  // nobody would see the replacement
      ASSIGN_OR_RETURN(const bool rewritten, Visit(instruction));
      changed |= rewritten;
    }
    return changed;
  }

 private:
  // Whether there is a rule for some instruction: most sets are about few opcodes.
  bool HasPlaces() const {
    for (const Instruction* instruction : computation_.instructions()) {
      if (!rules_.For(instruction->opcode()).empty()) return true;
    }
    return false;
  }

  void Enqueue(Instruction* instruction) {
    if (instruction->is_dead() || rules_.For(instruction->opcode()).empty()) return;
    if (queued_.insert(instruction).second) worklist_.push_back(instruction);
  }

  absl::StatusOr<bool> Visit(Instruction* instruction) {
    for (const Rule* rule : rules_.For(instruction->opcode())) {
      if (!context_.RuleEnabled(rule->name)) continue;
      const uint32_t first_new = computation_.module().id_limit();
      const uint32_t first_region = computation_.module().serial_limit();
      Rewriter rewriter(&computation_, context_, instruction);
      Instruction* replacement = rule->apply(instruction, rewriter);
      if (!rewriter.status().ok()) {
        return Internal("rule `{}` on `{}`: {}", rule->name, instruction->name(),
                        std::string_view(Text(rewriter.status())));
      }
      if (replacement == nullptr || replacement == instruction) continue;
      if (rules_.accept() != nullptr && !rules_.accept()(*instruction, *replacement, first_new)) {
        Discard(replacement, first_new, first_region);
        continue;
      }
      if (!Compatible(replacement->shape(), instruction->shape())) {
        return Internal("rule `{}` replaces `{}` of shape `{}` by a value of shape `{}`",
                        rule->name, instruction->name(), instruction->shape(),
                        replacement->shape());
      }
      if (!context_.MayRewrite()) {
        Discard(replacement, first_new, first_region);
        return false;
      }
      context_.Count(rule->name);
      context_.Passed(*instruction, "{}: `{}` takes its place", rule->name, replacement->name());
      if (context_.rule_trace()) context_.rule_trace()(rule->name, *instruction, *replacement);
      RETURN_IF_ERROR(CountHit(*rule));
      Commit(instruction, replacement, first_new);
      return true;
    }
    return false;
  }

  static std::string Text(const absl::Status& status) {
    return DiagnosticsOf(status).front().message;
  }

  absl::Status CountHit(const Rule& rule) {
    ++hits_[rule.name];
    if (++total_ <= limit_) return absl::OkStatus();
    const auto busiest = absl::c_max_element(
        hits_, [](const auto& a, const auto& b) { return a.second < b.second; });
    return Error("rewriting `{}` does not come to rest after {} rewrites; rule `{}` fired {} times",
                 computation_.name(), limit_, busiest->first, busiest->second);
  }

  void Commit(Instruction* old, Instruction* replacement, uint32_t first_new) {
    const std::vector<Instruction*> operands = old->operand_vector();
    const std::vector<Instruction*> users = old->users();
    ReplaceKeepingExtras(old, replacement, first_new);
    EnqueueNew(replacement, first_new);
    for (Instruction* user : users) Enqueue(user);
    for (Instruction* operand : operands) {
      if (operand->is_dead()) continue;
      const bool is_held = operand->has_control_edges() && !computation_.is_fusion();
      if (!operand->has_uses() && !is_held && !operand->HasSideEffect()) {
        computation_.RemoveUnused(operand);
      }
      if (operand->is_dead()) continue;
      Enqueue(operand);
      if (operand->has_one_user()) Enqueue(operand->uses()[0].user);  // rules may ask for one user
    }
  }

  // Queues what was built for `root`, operands first.
  void EnqueueNew(Instruction* root, uint32_t first_new) {
    std::vector<Instruction*> built;
    std::vector<Instruction*> stack = {root};
    while (!stack.empty()) {
      Instruction* top = stack.back();
      stack.pop_back();
      if (top->id() < first_new || absl::c_linear_search(built, top)) continue;
      built.push_back(top);
      for (Instruction* operand : top->operands()) stack.push_back(operand);
    }
    for (size_t i = built.size(); i-- > 0;) Enqueue(built[i]);
    Enqueue(root);
  }

  Computation& computation_;
  const RuleSet& rules_;
  PassContext& context_;
  const Instruction* skip_;
  absl::flat_hash_set<const Instruction*> queued_;
  std::deque<Instruction*> worklist_;
  std::map<std::string_view, int64_t> hits_;
  int64_t total_ = 0;
  int64_t limit_;
};

}  // namespace

namespace {

struct Noted {
  std::mutex mutex;
  std::set<std::string_view> names;
};

Noted& TheNoted() {
  static Noted noted;
  return noted;
}

}  // namespace

void NoteRuleName(std::string_view name) {
  Noted& noted = TheNoted();
  const std::lock_guard<std::mutex> lock(noted.mutex);
  noted.names.insert(name);
}

std::vector<std::string_view> NotedRuleNames() {
  Noted& noted = TheNoted();
  const std::lock_guard<std::mutex> lock(noted.mutex);
  return {noted.names.begin(), noted.names.end()};
}

void RuleSet::Add(std::span<const Rule> rules, RuleSafety allowed) {
  for (const Rule& rule : rules) {
    NoteRuleName(rule.name);
    if (rule.safety > allowed) continue;
    by_opcode_[static_cast<size_t>(rule.root)].push_back(&rule);
    roots_.Insert(rule.root);
  }
}

absl::StatusOr<bool> ApplyRules(Computation& computation, const RuleSet& rules,
                                PassContext& context, const Instruction* skip) {
  if (IsAsyncBody(computation)) return false;  // holds one operation
  return Driver(computation, rules, context, skip).Run();
}

namespace {

// Whether `replacement` is called what `old` was called: it is the same operation with other
// operands or attributes. Arguments are called by their computation.
bool KeepsName(const Instruction& old, const Instruction& replacement) {
  if (old.opcode() != replacement.opcode() || old.opcode() == Opcode::kParameter) return false;
  return old.opcode() != Opcode::kCustomCall ||
         std::string_view(old.attrs<CustomCallAttrs>().custom_call_target) ==
             std::string_view(replacement.attrs<CustomCallAttrs>().custom_call_target);
}

}  // namespace

void PassOnFrontendAttributes(const Instruction& from, Instruction* to) {
  const Extras* extras = from.extras();
  if (extras == nullptr || extras->frontend_attributes.empty()) return;
  auto& attributes = to->mutable_extras().frontend_attributes;
  if (attributes.empty()) attributes = extras->frontend_attributes;
}

void PassOnBackendConfig(const Instruction& from, Instruction* to) {
  if (!from.backend_config().empty() && to->backend_config().empty())
    to->mutable_extras().backend_config = std::string(from.backend_config());
}

void PassOnWork(const Instruction& from, Instruction* to) {
  PassOnFrontendAttributes(from, to);
  PassOnBackendConfig(from, to);
}

namespace {

// Gives a new array the order of dimensions in memory that users of `old` know, where any will do.
void TakeLayout(const Instruction& old, Instruction* replacement) {
  constexpr OpcodeSet kMeanTheirs = {
      Opcode::kBitcast,  Opcode::kCall,       Opcode::kConditional, Opcode::kCopy,
      Opcode::kConstant, Opcode::kCustomCall, Opcode::kFusion,      Opcode::kGetTupleElement};
  const Shape from = replacement->shape(), to = old.shape();
  if (from == to || !to.IsArray() || !Compatible(from, to) || !to.has_layout() ||
      to.layout().HasProperties() || (from.has_layout() && from.layout().HasProperties()) ||
      kMeanTheirs.Has(replacement->opcode()) || replacement->opcode() == Opcode::kParameter)
    return;
  replacement->set_shape(to);
}

}  // namespace

void ReplaceKeepingExtras(Instruction* old, Instruction* replacement, uint32_t first_new_id) {
  if (replacement->id() >= first_new_id) TakeLayout(*old, replacement);
  replacement = CopyIfLayoutIsRead(replacement, *old);
  const Extras* from = old->extras();
  PassOnOrigin(*old, replacement);
  if (from != nullptr) {
    // (Arguments are not made here: how they are divided is for callers to say.)
    const bool may_divide = replacement->opcode() != Opcode::kParameter;
    if (from->sharding && replacement->sharding() == nullptr && may_divide)
      replacement->set_sharding(from->sharding);
    PassOnFrontendAttributes(*old, replacement);
  }
  if (replacement->id() < first_new_id) HandOverControlEdges(old, replacement);
  if (KeepsName(*old, *replacement)) old->module().MoveName(*old, replacement);
  Computation& computation = *old->parent();
  computation.Replace(old, replacement);
  if (replacement->is_root()) DropShardingThatCallersContradict(computation);
}

namespace {

// A fusion takes nothing that its body does not read. Where operands mean something by their
// numbers, they stay.
void DropUnreadOperands(Computation& body) {
  for (const CallSite& site : body.callers()) {
    if (!IsPlainFusion(*site.caller)) return;
  }
  for (int i = body.parameter_count(); i-- > 0;) {
    if (!body.parameter(i)->is_used()) body.RemoveParameterAndOperands(i);
  }
}

}  // namespace

absl::StatusOr<bool> RewritePass::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.Computations(module, rules_.roots())) {
    if (skip_entry_ && computation->is_entry()) continue;
    ASSIGN_OR_RETURN(const bool rewritten, ApplyRules(*computation, rules_, context));
    if (rewritten && computation->is_fusion()) DropUnreadOperands(*computation);
    changed |= rewritten;
  }
  return changed;
}

}  // namespace hlo
