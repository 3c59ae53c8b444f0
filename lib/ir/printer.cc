#include "lib/ir/printer.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/async_sugar.h"
#include "lib/ir/call_order.h"
#include "lib/ir/element_names.h"
#include "lib/ir/print_extras.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/append_all.h"
#include "lib/support/strings.h"
#include "lib/types/append.h"
#include "lib/types/reserved_words.h"

namespace hlo {
namespace {

constexpr int64_t kSmallConstant = 10;
constexpr int64_t kEssentialIntegers = 500000;

// Whether the replica groups name parts of mesh axes.
bool UsesSubAxes(const Instruction& instruction) {
  const AttrsPtr& attrs = instruction.attrs_ptr();
  const auto check = [](const ReplicaGroups& groups) {
    const auto* mesh = std::get_if<MeshGroups>(&groups.form);
    return mesh != nullptr && std::any_of(mesh->axes.begin(), mesh->axes.end(),
                                          [](const AxisRef& axis) { return axis.is_sub_axis(); });
  };
  if (attrs.Is<AllGatherAttrs>()) return check(attrs.Get<AllGatherAttrs>().replica_groups);
  if (attrs.Is<AllReduceAttrs>()) return check(attrs.Get<AllReduceAttrs>().replica_groups);
  if (attrs.Is<ReduceScatterAttrs>()) return check(attrs.Get<ReduceScatterAttrs>().replica_groups);
  if (attrs.Is<AllToAllAttrs>()) return check(attrs.Get<AllToAllAttrs>().replica_groups);
  if (attrs.Is<RaggedAllToAllAttrs>())
    return check(attrs.Get<RaggedAllToAllAttrs>().replica_groups);
  if (attrs.Is<CollectiveBroadcastAttrs>())
    return check(attrs.Get<CollectiveBroadcastAttrs>().replica_groups);
  return false;
}

bool IsAsync(const Instruction& instruction) { return kAsyncOps.Has(instruction.opcode()); }

class Printer {
 public:
  Printer(const PrintOptions& options, std::string& out) : options_(options), out_(out) {}

  void PrintModule(const Module& module);
  void PrintComputation(const Computation& computation, bool nested, int indent);
  void PrintInstruction(const Instruction& instruction, int indent);

 private:
  void KeepNames(const Module& module, const std::vector<Computation*>& order);
  using Subcomputations = PrintOptions::Subcomputations;
  // Canonical names (tmp_0, …) of one computation body.
  using CanonicalNames = absl::flat_hash_map<const Instruction*, int>;

  void Indent(int levels) { out_.append(static_cast<size_t>(levels) * 2, ' '); }
  void AppendShape(Shape shape) { shape.AppendTo(out_, options_.layouts); }
  void AppendName(std::string_view name) { AppendAll(out_, Percent(name), Shown(name)); }
  std::string_view Percent(std::string_view name) const {
    constexpr std::string_view kPercent = "%";
    if (options_.percent) return kPercent;
    return options_.lossless && IsReservedWord(name) ? kPercent : kPercent.substr(1);
  }
  std::string_view Shown(std::string_view name) const {
    return options_.ids ? name : name.substr(0, name.find('.'));
  }
  void AppendInstructionName(const Instruction& instruction) {
    if (options_.canonical_instruction_names) {
      AppendCanonicalName(instruction);
    } else {
      AppendName(instruction.name());
    }
  }
  void AppendCanonicalName(const Instruction& instruction) {
    if (canonical_ == nullptr) return;
    const auto [it, inserted] =
        canonical_->emplace(&instruction, static_cast<int>(canonical_->size()));
    out_ += "tmp_";
    out_ += std::to_string(it->second);
  }
  // In front of its body.
  void AppendComputationName(const Computation& computation) {
    if (options_.canonical_computation_names) {
      AppendAll(out_, "computation_", std::to_string(computations_++));
    } else {
      AppendName(computation.name());
    }
  }
  // Whether users print `%tuple#index`. Control edges need the instruction's own name.
  bool CompactGte(const Instruction& instruction) const {
    return options_.compact_gte && instruction.opcode() == Opcode::kGetTupleElement &&
           !(options_.lossless &&
             (instruction.has_control_edges() || kept_elements_.contains(&instruction)));
  }
  bool SuppressedGte(const Instruction& instruction) const {
    return CompactGte(instruction) && !instruction.is_root();
  }
  void AppendOperands(const Instruction& instruction);
  void AppendOperand(const Instruction& operand, std::string_view comma);
  void AppendConstant(const Literal& literal);
  void AppendLiteral(const Literal& literal);
  void AppendConstantText(const Literal& literal);
  void MarkNegativeZeros(size_t start);
  void AppendEssentialConstant(const Literal& literal);
  void AppendAsyncWord(const Instruction& instruction);
  void AppendAttributes(const Instruction& instruction, int indent);
  void AppendAsyncStartAttributes(const Instruction& start, int indent);
  void AppendRootExtras(const Instruction& root, const Instruction& start);
  void AppendCalls(const Instruction& instruction, int indent);
  void AppendCall(std::string_view name, const Computation& callee, int indent);
  void AppendCallList(std::string_view name, const Instruction& instruction, int indent);
  void AppendBody(const Computation& callee, int indent);
  bool FullBodies(const Instruction& instruction) const {
    if (options_.subcomputations == Subcomputations::kFullBodies) return true;
    if (options_.subcomputations != Subcomputations::kNonSequentialBodies) return false;
    return !kProgramCallers.Has(instruction.opcode());
  }
  AttrPrintOptions AttrOptions() const {
    return {options_.full_replica_group_lists, options_.channel_id, options_.infeed_outfeed_config,
            options_.metadata};
  }
  void AppendReplicaMode(const Instruction& instruction);
  AttrsPtr ReadableDomain(const Instruction& instruction) const;
  void AppendOwnAttributes(const Instruction& instruction, int indent);
  const Computation* Sugared(const Instruction& async);

  const PrintOptions& options_;
  std::string& out_;
  CanonicalNames* canonical_ = nullptr;
  int64_t computations_ = 0;  // with canonical names
  // Elements that keep their lines.
  absl::flat_hash_set<const Instruction*> kept_elements_;
  // What Sugared() has found; only looked up.
  absl::flat_hash_map<const Instruction*, const Computation*> sugared_;
};

// ---- module and computations ----

void Printer::PrintModule(const Module& module) {
  Indent(options_.indent);
  out_ += "HloModule ";
  if (options_.ids) {
    const bool reserved = IsReservedWord(module.name()) || ElementTypeFromText(module.name());
    if (options_.lossless && reserved) out_ += '%';
    out_ += module.name();
  }
  AppendModuleHeader(module, options_, out_);
  std::vector<Computation*> order = module.PostOrder();
  if (options_.canonical_computations) {
    order = CalleesFirst({module.computations().begin(), module.computations().end()});
  } else if (options_.lossless) {
    order = CalleesFirst(std::move(order));
  }
  if (options_.lossless) KeepNames(module, order);
  for (const Computation* computation : order) {
    if (options_.syntax_sugar_async_ops && !computation->callers().empty()) {
      const Instruction* caller = computation->callers()[0].caller;
      if (caller->opcode() == Opcode::kAsyncStart && Sugared(*caller) == computation) continue;
    }
    PrintComputation(*computation, /*nested=*/false, options_.indent);
    out_ += "\n\n";
  }
}

// Finds what cannot be left to a reader's making, who would name it like something else.
void Printer::KeepNames(const Module& module, const std::vector<Computation*>& order) {
  if (options_.compact_gte) kept_elements_ = ElementsThatTakeNames(module);
  const auto has_starts = [](const Computation* computation) {
    return std::any_of(
        computation->callers().begin(), computation->callers().end(),
        [](const CallSite& site) { return site.caller->opcode() == Opcode::kAsyncStart; });
  };
  if (!options_.syntax_sugar_async_ops || std::none_of(order.begin(), order.end(), has_starts))
    return;
  std::vector<PrintedComputation> printed;
  for (const Computation* computation : order) {
    printed.push_back({computation, {}});
    for (const Instruction* instruction : computation->SequenceOrPostOrder()) {
      if (!SuppressedGte(*instruction)) printed.back().instructions.push_back(instruction);
    }
  }
  for (const Instruction* start : StartsThatTakeNames(printed, options_))
    sugared_.emplace(start, nullptr);
}

void Printer::PrintComputation(const Computation& computation, bool nested, int indent) {
  CanonicalNames names;
  CanonicalNames* const outer = canonical_;
  canonical_ = &names;
  Indent(indent);
  if (!nested) {
    if (computation.is_entry()) out_ += "ENTRY ";
    if (options_.in_nested_computation) {
      // No name, as if the computation stood in an attribute.
    } else if (options_.ids) {
      AppendComputationName(computation);
      out_ += ' ';
    } else if (options_.percent) {
      out_ += '%';
    }
  }
  if (options_.program_shape) {
    out_ += '(';
    for (int i = 0; i < computation.parameter_count(); ++i) {
      AppendAll(out_, std::string_view(", ").substr(i > 0 ? 0 : 2),
                Shown(computation.parameter(i)->name()), ": ",
                computation.parameter(i)->shape().Text(/*with_layout=*/false));
    }
    AppendAll(out_, ") -> ", computation.root()->shape().Text(/*with_layout=*/false), " ");
  }
  out_ += "{\n";
  // (A computation inside of an instruction is read, not run: XLA does not ask for its schedule.)
  const std::vector<Instruction*> order =
      nested ? computation.PostOrder() : computation.SequenceOrPostOrder();
  for (const Instruction* instruction : order) {
    if (SuppressedGte(*instruction)) continue;
    PrintInstruction(*instruction, indent + 1);
    out_ += '\n';
  }
  Indent(indent);
  out_ += '}';
  if (options_.ids && computation.execution_thread() != "main") {
    out_ += ", execution_thread=";
    AppendQuotedRaw(computation.execution_thread(), out_);
  }
  if (options_.name_after_closing_brace && computation.instruction_count() > 5) {
    out_ += " // ";
    out_ += computation.name();
  }
  canonical_ = outer;
}

// ---- instructions ----

void Printer::PrintInstruction(const Instruction& instruction, int indent) {
  using Text = std::string_view;
  Indent(indent);
  const Text root = instruction.is_root() ? Text("ROOT ") : Text();
  const Text shape = options_.result_shape ? instruction.shape().Text(options_.layouts) : Text();
  const Text blank = options_.result_shape ? Text(" ") : Text();
  const bool sugar = options_.syntax_sugar_async_ops && IsAsync(instruction);
  const Text word = sugar ? Text() : instruction.opcode_text();
  const Text open = sugar ? Text() : Text("(");
  if (!options_.canonical_instruction_names) {
    const Text name = instruction.name();
    AppendAll(out_, root, Percent(name), Shown(name), " = ", shape, blank, word, open);
  } else {
    out_ += root;
    if (canonical_ != nullptr) {
      AppendCanonicalName(instruction);
      out_ += " = ";
    }
    AppendAll(out_, shape, blank, word, open);
  }
  if (sugar) {
    AppendAsyncWord(instruction);
    out_ += '(';
  }
  if (instruction.opcode() == Opcode::kParameter) {
    if (options_.parameter_number) AppendInt(instruction.parameter_number(), out_);
  } else if (instruction.opcode() == Opcode::kConstant) {
    AppendConstant(instruction.literal());
  } else {
    AppendOperands(instruction);
  }
  out_ += ')';
  AppendAttributes(instruction, indent);
}

// The computation of an asynchronous operation that prints in its sugared form, found through
// operand 0. Steps are asked for after what they continue, so the way is short.
const Computation* Printer::Sugared(const Instruction& async) {
  const Computation* result = nullptr;
  for (const Instruction* at = &async; at != nullptr;) {
    const auto known = sugared_.find(at);
    if (known != sugared_.end()) {
      result = known->second;
      break;
    }
    if (at->opcode() == Opcode::kAsyncStart) {
      result = SugaredComputation(*at, options_);
      break;
    }
    const bool step = kAsyncSteps.Has(at->opcode());
    at = step && at->operand_count() > 0 ? at->operand(0) : nullptr;
  }
  sugared_.emplace(&async, result);
  return result;
}

void Printer::AppendAsyncWord(const Instruction& instruction) {
  const std::string_view word = instruction.opcode_text();
  const Computation* wrapped = Sugared(instruction);
  if (wrapped == nullptr) {
    out_ += word;
  } else {
    AppendAll(out_, wrapped->root()->opcode_text(), word.substr(std::string_view("async").size()));
  }
}

void Printer::AppendOperands(const Instruction& instruction) {
  const int count = instruction.operand_count();
  const int shown = options_.compact_operands ? std::min(count, 4) : count;
  for (int i = 0; i < shown; ++i) {
    std::string_view comma = std::string_view(", ").substr(i > 0 ? 0 : 2);
    if (i > 0 && options_.operand_index_interval > 0 && i % options_.operand_index_interval == 0) {
      out_ += fmt::format(", /*index={}*/", i);
      comma = "";
    }
    AppendOperand(*instruction.operand(i), comma);
  }
  if (shown < count) out_ += fmt::format(", ...(+{})", count - shown);
}

void Printer::AppendOperand(const Instruction& operand, std::string_view comma) {
  const bool canonical = options_.canonical_instruction_names;
  const bool named = canonical ? canonical_ != nullptr : options_.operand_names;
  if (named && !canonical && !CompactGte(operand)) {
    const std::string_view shape =
        options_.operand_shape ? operand.shape().Text(options_.layouts) : std::string_view();
    const auto blank = options_.operand_shape ? std::string_view(" ") : std::string_view();
    AppendAll(out_, comma, shape, blank, Percent(operand.name()), Shown(operand.name()));
    return;
  }
  out_ += comma;
  if (options_.operand_shape) AppendShape(operand.shape());
  if (!named) return;
  if (options_.operand_shape) out_ += ' ';
  std::vector<int64_t> path;
  const Instruction* at = &operand;
  for (; CompactGte(*at); at = at->operand(0)) path.push_back(at->tuple_index());
  AppendInstructionName(*at);
  for (size_t i = path.size(); i-- > 0;) out_ += "#" + std::to_string(path[i]);
}

// XLA writes -0 for -0.0 and reads it as the integer 0.
void Printer::MarkNegativeZeros(size_t start) {
  const auto ends_number = [&](size_t at) {
    return at >= out_.size() || std::string_view(",) }").find(out_[at]) != std::string_view::npos;
  };
  std::string marked;
  size_t copied = start;
  for (size_t at = out_.find("-0", start); at != std::string::npos; at = out_.find("-0", at + 2)) {
    if (!ends_number(at + 2) || (at > start && out_[at - 1] == 'e')) continue;
    marked.append(out_, copied, at + 2 - copied);
    marked += ".0";
    copied = at + 2;
  }
  if (copied == start) return;
  marked.append(out_, copied);
  out_.resize(start);
  out_ += marked;
}

// XLA writes 2^-127 as 5.9e-39, which is more, and reads everything that is more as 2^-126.
void Printer::AppendLiteral(const Literal& literal) {
  if (options_.lossless && literal.shape().IsTuple() && !literal.is_elided()) {
    out_ += "( ";
    for (size_t i = 0; i < literal.elements().size(); ++i) {
      if (i > 0) out_ += ", ";
      AppendLiteral(literal.elements()[i]);
    }
    out_ += " )";
    return;
  }
  const size_t start = out_.size();
  literal.AppendTo(out_);
  if (!options_.lossless || literal.shape().element_type() != ElementType::kF8E8M0FNU) return;
  constexpr std::string_view kWritten = "5.9e-39", kRead = "5.8e-39";
  for (size_t at = out_.find(kWritten, start); at != std::string::npos;
       at = out_.find(kWritten, at + kRead.size()))
    out_.replace(at, kRead.size(), kRead);
}

void Printer::AppendConstant(const Literal& literal) {
  const size_t start = out_.size();
  AppendConstantText(literal);
  if (options_.lossless) MarkNegativeZeros(start);
}

void Printer::AppendConstantText(const Literal& literal) {
  if (options_.only_essential_constants) {
    AppendEssentialConstant(literal);
    return;
  }
  if (literal.is_elided()) {
    out_ += "{...}";
  } else if (options_.large_constants) {
    AppendLiteral(literal);
  } else if (literal.shape().IsArray() && literal.element_count() <= kSmallConstant) {
    AppendLiteral(literal);
  } else {
    out_ += "{...}";
  }
}

void Printer::AppendEssentialConstant(const Literal& literal) {
  const Shape shape = literal.shape();
  if (shape.IsTuple() && shape.elements().empty()) {
    out_ += "(  )";
  } else if (literal.is_elided() || !shape.IsArray()) {
    out_ += "{...}";
  } else if (shape.IsZeroSized() || literal.IsAll(0)) {
    out_ += '0';
  } else if (literal.IsAll(1)) {
    out_ += '1';
  } else if (IsInteger(shape.element_type()) && shape.element_count() <= kEssentialIntegers) {
    AppendLiteral(literal);
  } else {
    out_ += "{...}";
  }
}

// ---- attributes ----

void Printer::AppendAttributes(const Instruction& instruction, int indent) {
  if (IsAsync(instruction)) {
    if (instruction.opcode() == Opcode::kAsyncStart) {
      AppendAsyncStartAttributes(instruction, indent);
    } else if (instruction.opcode() == Opcode::kAsyncUpdate && options_.extra_attributes) {
      AsyncAttrs own = instruction.attrs<AsyncAttrs>();
      own.async_execution_thread = "main";
      AttrsPtr::Make(std::move(own)).Print(AttrOptions(), false, out_);
    }
    AppendExtras(instruction, options_, out_);
    return;
  }
  AppendOwnAttributes(instruction, indent);
  AppendExtras(instruction, options_, out_);
}

// XLA drops the `mode` without which it does not read `use_global_device_ids=true`.
void Printer::AppendReplicaMode(const Instruction& instruction) {
  const auto append = [&](const auto& attrs) {
    if (attrs.use_global_device_ids && !attrs.channel_id.has_value() && !attrs.mode.empty())
      out_ += ", mode=" + attrs.mode;
  };
  const AttrsPtr& attrs = instruction.attrs_ptr();
  if (attrs.Is<AllReduceAttrs>()) append(attrs.Get<AllReduceAttrs>());
  if (attrs.Is<ReduceScatterAttrs>()) append(attrs.Get<ReduceScatterAttrs>());
}

AttrsPtr Printer::ReadableDomain(const Instruction& instruction) const {
  DomainAttrs attrs = instruction.attrs<DomainAttrs>();
  attrs.domain.entry = ReadableSharding(std::move(attrs.domain.entry), options_.metadata);
  attrs.domain.exit = ReadableSharding(std::move(attrs.domain.exit), options_.metadata);
  return AttrsPtr::Make(std::move(attrs));
}

// The attributes of the opcode, and what it calls.
void Printer::AppendOwnAttributes(const Instruction& instruction, int indent) {
  AttrPrintOptions options = AttrOptions();
  if (!options_.replica_group_sub_axes && UsesSubAxes(instruction))
    options.full_replica_groups = true;
  if (options_.extra_attributes) {
    const size_t start = out_.size();
    if (options_.lossless && instruction.opcode() == Opcode::kDomain) {
      ReadableDomain(instruction).Print(options, /*after_calls=*/false, out_);
    } else {
      instruction.attrs_ptr().Print(options, /*after_calls=*/false, out_);
    }
    if (options_.lossless) {
      AppendReplicaMode(instruction);
      if (instruction.attrs_ptr().Is<BatchNormAttrs>()) MarkNegativeZeros(start);
      // Strings stand in front of the literal, numbers of its kind only in it.
      const bool has_literal = instruction.opcode() == Opcode::kCustomCall &&
                               instruction.attrs<CustomCallAttrs>().literal.has_value();
      if (has_literal) MarkNegativeZeros(out_.rfind(", literal="));
    }
  }
  AppendCalls(instruction, indent);
  if (options_.extra_attributes) instruction.attrs_ptr().Print(options, /*after_calls=*/true, out_);
}

// Of the common attributes of a wrapped operation, those that XLA prints at its start; each once.
void Printer::AppendRootExtras(const Instruction& root, const Instruction& start) {
  if (root.extras() == nullptr) return;
  static const Extras kNone;
  const Extras& own = start.extras() == nullptr ? kNone : *start.extras();
  Extras extras;
  if (!own.sharding) extras.sharding = root.extras()->sharding;
  if (own.frontend_attributes.empty())
    extras.frontend_attributes = root.extras()->frontend_attributes;
  if (!own.statistics) extras.statistics = root.extras()->statistics;
  extras.result_accuracy = root.extras()->result_accuracy;
  AppendExtras(extras, root.module(), options_, out_);
}

void Printer::AppendAsyncStartAttributes(const Instruction& start, int indent) {
  const Computation* sugared = options_.syntax_sugar_async_ops ? Sugared(start) : nullptr;
  const AsyncAttrs& attrs = start.attrs<AsyncAttrs>();
  if (attrs.async_execution_thread != "main") {
    out_ += ", async_execution_thread=";
    AppendQuotedRaw(attrs.async_execution_thread, out_);
  }
  if (sugared != nullptr) {
    const Instruction& root = *sugared->root();
    AppendOwnAttributes(root, indent);
    AppendRootExtras(root, start);
  }
  if (options_.extra_attributes) {
    AsyncAttrs aliasing;
    aliasing.output_to_operand_aliasing = attrs.output_to_operand_aliasing;
    AttrsPtr::Make(std::move(aliasing)).Print(AttrOptions(), false, out_);
  }
  if (sugared == nullptr || options_.subcomputations == Subcomputations::kFullBodies)
    AppendCalls(start, indent);
}

void Printer::AppendCalls(const Instruction& instruction, int indent) {
  if (instruction.call_count() == 0 || options_.subcomputations == Subcomputations::kOff) return;
  const Opcode opcode = instruction.opcode();
  if (kAsyncSteps.Has(opcode)) return;
  const CallSpec& spec = Info(opcode).calls;
  if (opcode == Opcode::kConditional) {
    if (instruction.operand_count() > 0 &&
        instruction.operand(0)->shape().element_type() == ElementType::kPred) {
      AppendCall("true_computation", *instruction.call(0), FullBodies(instruction) ? indent : -1);
      AppendCall("false_computation", *instruction.call(1), FullBodies(instruction) ? indent : -1);
      return;
    }
    AppendCallList("branch_computations", instruction, indent);
    return;
  }
  if (spec.is_list) {
    AppendCallList(spec.names[0], instruction, indent);
    return;
  }
  const bool full = FullBodies(instruction);
  for (int i = 0; i < instruction.call_count() && i < spec.count; ++i) {
    std::string_view name = spec.names[static_cast<size_t>(i)];
    // XLA's full-body mode has no case for these two and falls back to `calls`.
    if (full && (opcode == Opcode::kReduceScatter || opcode == Opcode::kScan)) name = "calls";
    AppendCall(name, *instruction.call(i), full ? indent : -1);
  }
}

void Printer::AppendCall(std::string_view name, const Computation& callee, int indent) {
  if (indent < 0) {
    AppendAll(out_, ", ", name, "=", Percent(callee.name()), Shown(callee.name()));
  } else {
    AppendAll(out_, ", ", name, "=\n");
    AppendBody(callee, indent);
  }
}

void Printer::AppendCallList(std::string_view name, const Instruction& instruction, int indent) {
  out_ += ", ";
  out_ += name;
  out_ += "={";
  const bool full = FullBodies(instruction);
  for (int i = 0; i < instruction.call_count(); ++i) {
    if (full) {
      out_ += i == 0 ? "\n" : ",\n";
      AppendBody(*instruction.call(i), indent);
    } else {
      if (i > 0) out_ += ", ";
      AppendComputationName(*instruction.call(i));
    }
  }
  if (full) out_ += '\n';
  out_ += '}';
}

void Printer::AppendBody(const Computation& callee, int indent) {
  PrintComputation(callee, /*nested=*/true, indent);
}

}  // namespace

PrintOptions PrintOptions::Long() {
  PrintOptions o;
  o.operand_shape = true;
  return o;
}

PrintOptions PrintOptions::ShortParsable() {
  PrintOptions o;
  o.large_constants = true;
  o.metadata = false;
  o.operand_index_interval = 0;
  o.program_shape = false;
  o.percent = false;
  o.control_dependencies = false;
  return o;
}

PrintOptions PrintOptions::Canonical() {
  PrintOptions o;
  o.subcomputations = Subcomputations::kFullBodies;
  o.metadata = false;
  o.backend_config = false;
  o.operand_shape = true;
  o.operand_names = false;  // the canonical ones stand there
  o.operand_index_interval = 0;
  o.program_shape = false;
  o.percent = false;
  o.control_dependencies = false;
  o.canonical_instruction_names = true;
  return o;
}

PrintOptions PrintOptions::Fingerprint() {
  PrintOptions o = Canonical();
  o.only_essential_constants = true;
  o.infeed_outfeed_config = false;
  o.ids = false;
  o.canonical_computations = true;
  o.full_replica_group_lists = true;
  return o;
}

PrintOptions PrintOptions::ModuleFingerprint() {
  PrintOptions o = Fingerprint();
  o.operand_shape = false;
  return o;
}

PrintOptions PrintOptions::HloOpt() {
  PrintOptions o;
  o.syntax_sugar_async_ops = false;
  o.compact_gte = true;
  return o;
}

std::string ToText(const Module& module, const PrintOptions& options) {
  std::string out;
  // Mostly as long as what was read.
  const size_t known = module.source() == nullptr ? 0 : module.source()->text().size();
  out.reserve(std::max(known + known / 16, static_cast<size_t>(module.instruction_count()) * 64) +
              256);
  Printer(options, out).PrintModule(module);
  return out;
}

std::string ToText(const Computation& computation, const PrintOptions& options) {
  std::string out;
  Printer(options, out).PrintComputation(computation, /*nested=*/false, options.indent);
  return out;
}

std::string ToText(const Instruction& instruction, const PrintOptions& options) {
  std::string out;
  Printer(options, out).PrintInstruction(instruction, options.indent);
  return out;
}

}  // namespace hlo
