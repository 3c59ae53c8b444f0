#include "lib/analysis/logical_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/analysis/call_graph.h"
#include "lib/analysis/leaves.h"

namespace hlo {
namespace {

// ---- trees of shapes ----

int64_t NodeCount(Shape shape) {
  if (!shape.IsTuple()) return 1;
  int64_t count = 1;
  for (const Shape element : shape.elements()) count += NodeCount(element);
  return count;
}

int64_t NodeNumber(Shape shape, const ShapeIndex& index) {
  int64_t number = 0;
  for (const int64_t at : index) {
    ++number;
    for (int64_t i = 0; i < at; ++i) number += NodeCount(shape.element(static_cast<int>(i)));
    shape = shape.element(static_cast<int>(at));
  }
  return number;
}

template <class F>
void ForEachNode(Shape shape, ShapeIndex& index, const F& f) {
  f(shape, index);
  if (!shape.IsTuple()) return;
  index.push_back(0);
  for (const Shape element : shape.elements()) {
    ForEachNode(element, index, f);
    ++index.back();
  }
  index.pop_back();
}

ShapeIndex Joined(int64_t first, absl::Span<const int64_t> rest) {
  ShapeIndex index = {first};
  index.insert(index.end(), rest.begin(), rest.end());
  return index;
}

ShapeIndex Rest(const ShapeIndex& index, int64_t from) {
  return ShapeIndex(index.begin() + from, index.end());
}

// ---- what is passed on ----

struct NodeSource {
  int64_t operand = 0;
  ShapeIndex index;
};
using From = std::optional<NodeSource>;

const OutputOperandAliases* DeclaredAliases(const Instruction& x) {
  if (x.attrs_ptr().Is<FusionAttrs>()) return &x.attrs<FusionAttrs>().output_to_operand_aliasing;
  if (x.attrs_ptr().Is<CustomCallAttrs>())
    return &x.attrs<CustomCallAttrs>().output_to_operand_aliasing;
  return nullptr;
}

From OfSame(const Instruction&, const ShapeIndex& index) { return NodeSource{0, index}; }

From OfElement(const Instruction& x, const ShapeIndex& index) {
  return NodeSource{0, Joined(x.tuple_index(), index)};
}

From OfTuple(const Instruction&, const ShapeIndex& index) {
  if (index.empty()) return std::nullopt;
  return NodeSource{index[0], Rest(index, 1)};
}

// Copies of tuples are copies of their tables.
From OfCopy(const Instruction&, const ShapeIndex& index) {
  if (index.empty()) return std::nullopt;
  return NodeSource{0, index};
}

// (the copy, the operand, a context)
From OfCopyStart(const Instruction&, const ShapeIndex& index) {
  if (index != ShapeIndex{1}) return std::nullopt;
  return NodeSource{0, {}};
}

From OfCopyDone(const Instruction&, const ShapeIndex& index) {
  return NodeSource{0, Joined(0, index)};
}

From OfSend(const Instruction&, const ShapeIndex& index) {
  if (index.empty() || index[0] != 0) return std::nullopt;
  return NodeSource{0, Rest(index, 1)};
}

From OfRecvDone(const Instruction&, const ShapeIndex& index) {
  if (index.empty() || index[0] != 0) return std::nullopt;
  return NodeSource{0, index};
}

// (operands, result, contexts)
From OfAsyncStart(const Instruction&, const ShapeIndex& index) {
  if (index.size() < 2 || index[0] != 0) return std::nullopt;
  return NodeSource{index[1], Rest(index, 2)};
}

From OfAsyncUpdate(const Instruction& x, const ShapeIndex& index) {
  const Shape before = x.operand(0)->shape();
  if (index.empty() || index[0] > 1) return std::nullopt;
  if (IndexIsValid(before, index) && SubShape(before, index) == SubShape(x.shape(), index))
    return NodeSource{0, index};
  if (index.size() < 2 || index[0] != 0) return std::nullopt;
  const int64_t late = index[1] - before.element(0).element_count_of_tuple();
  return NodeSource{1 + late, Rest(index, 2)};
}

From OfAsyncDone(const Instruction&, const ShapeIndex& index) {
  return NodeSource{0, Joined(1, index)};
}

struct PassingRule {
  Opcode opcode;
  From (*source)(const Instruction& instruction, const ShapeIndex& index);
};

constexpr PassingRule kPassingRules[] = {
    {Opcode::kAddDependency, OfSame},
    {Opcode::kAsyncDone, OfAsyncDone},
    {Opcode::kAsyncStart, OfAsyncStart},
    {Opcode::kAsyncUpdate, OfAsyncUpdate},
    {Opcode::kBitcast, OfSame},
    {Opcode::kCopy, OfCopy},
    {Opcode::kCopyDone, OfCopyDone},
    {Opcode::kCopyStart, OfCopyStart},
    {Opcode::kDomain, OfSame},
    {Opcode::kGetTupleElement, OfElement},
    {Opcode::kOptimizationBarrier, OfSame},
    {Opcode::kRecvDone, OfRecvDone},
    {Opcode::kSend, OfSend},
    {Opcode::kTuple, OfTuple},
    {Opcode::kWhile, OfSame},
};

// Where the node at `index` of the result comes from; nothing when it is made.
From SourceOf(const Instruction& x, const ShapeIndex& index) {
  if (const OutputOperandAliases* aliases = DeclaredAliases(x); aliases != nullptr) {
    for (const OutputOperandAlias& alias : *aliases) {
      if (alias.output == index) return NodeSource{alias.operand, alias.operand_index};
    }
    return std::nullopt;
  }
  for (const PassingRule& rule : kPassingRules) {
    if (rule.opcode == x.opcode()) return rule.source(x, index);
  }
  return std::nullopt;
}

// ---- what is used ----

bool IsLoopFusion(const Instruction& x) {
  return x.IsFusion() && x.attrs<FusionAttrs>().kind == FusionKind::kLoop;
}

bool IsRead(const Instruction& value, const ShapeIndex& index);

// Whether the user looks at the node, rather than only at a table above or beside it.
bool Uses(const Instruction& user, int operand, const ShapeIndex& index) {
  if (user.opcode() == Opcode::kGetTupleElement) return index.empty();
  if (!IsLoopFusion(user)) return true;
  return IsRead(*user.fused_computation()->parameter(operand), index);
}

bool IsRead(const Instruction& value, const ShapeIndex& index) {
  return std::any_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
    if (Uses(*use.user, use.operand_index, index)) return true;
    return use.user->opcode() == Opcode::kGetTupleElement && use.user->tuple_index() == index[0] &&
           IsRead(*use.user, Rest(index, 1));
  });
}

}  // namespace

int64_t NodeBytes(Shape shape) {
  if (shape.IsArray()) return shape.byte_size();
  if (shape.IsBuffer()) return shape.element(0).byte_size();
  return shape.IsTuple() ? kPointerBytes * shape.element_count_of_tuple() : 0;
}

// ---- building ----

LogicalBuffers::LogicalBuffers(absl::Span<Instruction* const> sequence) {
  instances_.reserve(sequence.size());
  for (const Instruction* instruction : sequence) Visit(*instruction);
  if (sequence.empty()) return;
  const Instruction* const root = sequence[0]->parent()->root();
  for (const LogicalBufferId id : Of(*root)) buffers_[static_cast<size_t>(id)].is_live_out = true;
  stamps_.assign(buffers_.size(), 0);
  for (const Instruction* instruction : sequence) AddUses(*instruction);
  for (LogicalBufferId id = 0; id < count(); ++id) {
    LogicalBuffer& buffer = buffers_[static_cast<size_t>(id)];
    for (const LogicalBufferUse& use : buffer.uses) {
      std::vector<LogicalBufferId>& used = instances_.at(use.user).used;
      if (!used.empty() && used.back() == id) continue;
      used.push_back(id);
      ++buffer.user_count;
    }
  }
}

LogicalBufferId LogicalBuffers::New(const Instruction& def, ShapeIndex index, Shape shape) {
  LogicalBuffer& buffer = buffers_.emplace_back();
  buffer.def = &def;
  buffer.index = std::move(index);
  buffer.shape = shape;
  return static_cast<LogicalBufferId>(buffers_.size()) - 1;
}

// The buffer of another instruction that stands at `index` of the result; -1 when there is none.
LogicalBufferId LogicalBuffers::Passed(const Instruction& x, const ShapeIndex& index) const {
  const From source = SourceOf(x, index);
  if (!source || source->operand < 0 || source->operand >= x.operand_count()) return -1;
  const Instruction& operand = *x.operand(static_cast<int>(source->operand));
  const absl::Span<const LogicalBufferId> nodes = Of(operand);
  if (nodes.empty() || !IndexIsValid(operand.shape(), source->index)) return -1;
  return nodes[static_cast<size_t>(NodeNumber(operand.shape(), source->index))];
}

void LogicalBuffers::Visit(const Instruction& instruction) {
  std::vector<LogicalBufferId> nodes;
  Instance instance;
  instance.made = count();
  ShapeIndex at;
  ForEachNode(instruction.shape(), at, [&](Shape shape, const ShapeIndex& index) {
    const LogicalBufferId passed = Passed(instruction, index);
    nodes.push_back(passed >= 0 ? passed : New(instruction, index, shape));
  });
  instance.made_end = count();
  instance.first = static_cast<uint32_t>(nodes_.size());
  instance.count = static_cast<uint32_t>(nodes.size());
  nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
  instances_[&instruction] = std::move(instance);
  NoteOverwriting(instruction);
}

// Loops write over their state, fusions and custom calls over what they declare.
void LogicalBuffers::NoteOverwriting(const Instruction& instruction) {
  const bool is_loop = instruction.opcode() == Opcode::kWhile;
  if (!is_loop && DeclaredAliases(instruction) == nullptr) return;
  for (const LogicalBufferId id : Of(instruction)) {
    LogicalBuffer& buffer = buffers_[static_cast<size_t>(id)];
    if (buffer.def == &instruction) continue;
    buffer.has_indirect_uses = buffer.has_indirect_uses || is_loop;
    if (!buffer.shape.IsTuple()) buffer.overwriters.push_back(&instruction);
  }
}

// The uses of all that `alias` holds by the name of `alias`.
void LogicalBuffers::AddUses(const Instruction& alias) {
  const absl::Span<const LogicalBufferId> nodes = Of(alias);
  std::vector<Use> uses(alias.uses().begin(), alias.uses().end());
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return std::pair(a.user->id(), a.operand_index) < std::pair(b.user->id(), b.operand_index);
  });
  for (size_t first = 0, end = 0; first < uses.size(); first = end) {
    const Instruction& user = *uses[first].user;
    while (end < uses.size() && uses[end].user == &user) ++end;
    if (!instances_.contains(&user)) continue;
    ++last_stamp_;
    size_t node = 0;
    ShapeIndex at;
    ForEachNode(alias.shape(), at, [&](Shape, const ShapeIndex& index) {
      const auto id = static_cast<size_t>(nodes[node++]);
      if (stamps_[id] == last_stamp_ || !Uses(user, uses[first].operand_index, index)) return;
      stamps_[id] = last_stamp_;
      LogicalBuffer& buffer = buffers_[id];
      if (buffer.def != &alias && !IsTransparent(alias)) buffer.has_indirect_uses = true;
      for (size_t i = first; i < end; ++i) buffer.uses.push_back({&user, uses[i].operand_index});
    });
  }
}

// ---- questions ----

absl::Span<const LogicalBufferId> LogicalBuffers::Of(const Instruction& instruction) const {
  const auto it = instances_.find(&instruction);
  if (it == instances_.end()) return {};
  return absl::MakeConstSpan(nodes_).subspan(it->second.first, it->second.count);
}

std::pair<LogicalBufferId, LogicalBufferId> LogicalBuffers::MadeBy(
    const Instruction& instruction) const {
  const Instance& instance = instances_.at(&instruction);
  return {instance.made, instance.made_end};
}

absl::Span<const LogicalBufferId> LogicalBuffers::UsedBy(const Instruction& instruction) const {
  return instances_.at(&instruction).used;
}

MemoryPeak PeakOf(absl::Span<Instruction* const> sequence,
                  const std::function<int64_t(Shape)>& bytes_of,
                  const std::function<int64_t(const Instruction&)>& inside) {
  const LogicalBuffers buffers(sequence);
  std::vector<int> waiting;
  std::vector<int64_t> bytes;
  for (LogicalBufferId id = 0; id < buffers.count(); ++id) {
    waiting.push_back(buffers[id].user_count);
    bytes.push_back(buffers[id].IsOutside() ? 0 : bytes_of(buffers[id].shape));
  }
  MemoryPeak peak{0, sequence.empty() ? nullptr : sequence[0]};
  int64_t live = 0;
  for (const Instruction* instruction : sequence) {
    const auto [made, made_end] = buffers.MadeBy(*instruction);
    for (auto id = static_cast<size_t>(made); id < static_cast<size_t>(made_end); ++id)
      live += bytes[id];
    if (const int64_t now = live + inside(*instruction); now > peak.bytes)
      peak = {now, instruction};
    for (const LogicalBufferId id : buffers.UsedBy(*instruction)) {
      if (--waiting[static_cast<size_t>(id)] == 0) live -= bytes[static_cast<size_t>(id)];
    }
    for (auto id = static_cast<size_t>(made); id < static_cast<size_t>(made_end); ++id) {
      if (waiting[id] == 0) live -= bytes[id];
    }
  }
  return peak;
}

// ---- text ----

namespace {

std::string TextOf(const LogicalBuffer& buffer) {
  std::string text(buffer.def->name());
  if (buffer.def->shape().IsTuple()) text += ToString(buffer.index);
  text += fmt::format(": {} bytes", NodeBytes(buffer.shape));
  if (buffer.IsOutside()) text += " of the caller";
  if (buffer.has_indirect_uses) text += ", used indirectly";
  const Instruction* last = nullptr;
  for (const LogicalBufferUse& use : buffer.uses) {
    if (use.user != last)
      text += fmt::format("{} {}", last == nullptr ? "; for" : ",", use.user->name());
    last = use.user;
  }
  for (const Instruction* writer : buffer.overwriters)
    text += fmt::format("; `{}` writes over it", writer->name());
  return text + "\n";
}

}  // namespace

std::string LogicalBuffers::ToString(const Module& module) {
  CallGraph calls(module);
  std::string text;
  for (const Computation* computation : calls.without_fusions()) {
    if (calls.ContextOf(*computation) != CallContext::kControlFlow) continue;
    const std::vector<Instruction*> sequence = computation->SequenceOrPostOrder();
    const MemoryPeak peak = PeakOf(sequence, NodeBytes, [](const Instruction&) { return 0; });
    text += fmt::format("{}: at most {} bytes of its own, at `{}`\n", computation->name(),
                        peak.bytes, peak.at->name());
    const LogicalBuffers buffers(sequence);
    for (LogicalBufferId id = 0; id < buffers.count(); ++id) text += "  " + TextOf(buffers[id]);
  }
  return text;
}

}  // namespace hlo
