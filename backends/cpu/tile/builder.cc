#include "backends/cpu/tile/builder.h"

#include <algorithm>
#include <bit>

#include "lib/support/check.h"
#include "lib/support/hash.h"
#include "lib/support/round.h"

namespace hlo::cpu::tile {
namespace {

uint64_t HashOf(const Node& node, Type type) {
  uint64_t h = HashMix(static_cast<uint64_t>(node.op), static_cast<uint64_t>(node.opcode));
  h = HashMix(h, static_cast<uint64_t>(type.element) << 32 | static_cast<uint32_t>(type.lanes));
  h = HashMix(h, node.bits[0] ^ std::rotl(node.bits[1], 17));
  h = HashMix(
      h, static_cast<uint64_t>(node.stride) ^ std::rotl(static_cast<uint64_t>(node.buffer), 40));
  h = HashMix(h, static_cast<uint64_t>(node.attrs.direction) << 8 |
                     static_cast<uint64_t>(node.attrs.comparison));
  for (const Value v : node.operands) h = HashMix(h, static_cast<uint64_t>(v));
  for (const int16_t lane : node.lane_list) h = HashMix(h, static_cast<uint64_t>(lane));
  return h;
}

bool Same(const Node& a, const Node& b) {
  return a.op == b.op && a.opcode == b.opcode && a.attrs == b.attrs && a.buffer == b.buffer &&
         a.stride == b.stride && a.bits == b.bits && a.operands == b.operands &&
         a.lane_list == b.lane_list;
}

}  // namespace

TileBuilder::TileBuilder(Kernel* kernel) : kernel_(kernel) {
  HLO_CHECK(kernel->blocks.empty());
  kernel_->blocks.emplace_back();
  open_.push_back(0);
  kernel_->nodes.reserve(128);
  kernel_->values.reserve(128);
  for (int i = 0; i < 2; ++i) {
    const Value argument = NewValue(kIndexType, -1, 0);
    kernel_->blocks[0].arguments.push_back(argument);
  }
}

int TileBuilder::AddBuffer(BufferKind kind, ElementType type, int64_t elements, bool written) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.type = type;
  buffer.elements = elements;
  buffer.written = written;
  if (kind == BufferKind::kScratch) {
    buffer.offset = RoundUp(kernel_->scratch_bytes, 64);
    kernel_->scratch_bytes = buffer.offset + elements * ByteSize(type);
  }
  kernel_->buffers.push_back(std::move(buffer));
  return static_cast<int>(kernel_->buffers.size()) - 1;
}

int TileBuilder::AddConstantBuffer(ElementType type, absl::Span<const uint8_t> data) {
  const int buffer =
      AddBuffer(BufferKind::kConstant, type, static_cast<int64_t>(data.size()) / ByteSize(type));
  kernel_->buffers.back().data.assign(data.begin(), data.end());
  return buffer;
}

// ---- placement ----

Value TileBuilder::NewValue(Type type, int32_t node, int32_t block) {
  kernel_->values.push_back({type, node, block});
  return static_cast<Value>(kernel_->values.size()) - 1;
}

bool TileBuilder::IsVisible(Value v) const {
  const int32_t block = kernel_->values[static_cast<size_t>(v)].block;
  const auto depth = static_cast<size_t>(kernel_->blocks[static_cast<size_t>(block)].depth);
  return depth < open_.size() && open_[depth] == block;
}

int TileBuilder::DepthOf(Value v) const {
  HLO_DCHECK(IsVisible(v));
  return kernel_->blocks[static_cast<size_t>(kernel_->values[static_cast<size_t>(v)].block)].depth;
}

int32_t TileBuilder::Place(Node&& node, int32_t block) {
  const auto number = static_cast<int32_t>(kernel_->nodes.size());
  node.origin = origin_;
  kernel_->nodes.push_back(std::move(node));
  kernel_->blocks[static_cast<size_t>(block)].nodes.push_back(number);
  return number;
}

Value TileBuilder::Append(Node&& node, Type type, Purity purity) {
  int depth = 0;
  for (const Value v : node.operands) depth = std::max(depth, DepthOf(v));
  if (purity == Purity::kFixed) depth = this->depth();
  if (purity == Purity::kPure) {
    for (int d = this->depth(); d > depth; --d) {
      if (kernel_->blocks[static_cast<size_t>(open_[static_cast<size_t>(d)])].conditional)
        depth = d;
    }
  }
  uint64_t hash = 0;
  if (purity != Purity::kFixed) {
    hash = HashOf(node, type);
    if (const auto it = made_.find(hash); it != made_.end()) {
      const Node& known = kernel_->nodes[static_cast<size_t>(it->second)];
      if (Same(known, node) && this->type(known.results[0]) == type &&
          IsVisible(known.results[0])) {
        return known.results[0];
      }
    }
  }
  const int32_t block = open_[static_cast<size_t>(depth)];
  const int32_t number = Place(std::move(node), block);
  const Value result = NewValue(type, number, block);
  kernel_->nodes[static_cast<size_t>(number)].results.push_back(result);
  if (purity != Purity::kFixed) made_[hash] = number;
  return result;
}

TileBuilder::At::At(TileBuilder& b, int depth) : b_(b) {
  for (int d = b.depth(); d > depth; --d) {
    if (b.kernel_->blocks[static_cast<size_t>(b.open_[static_cast<size_t>(d)])].conditional)
      depth = d;
  }
  const auto first = b.open_.begin() + std::min(depth, b.depth()) + 1;
  inner_.assign(first, b.open_.end());
  b.open_.erase(first, b.open_.end());
}

TileBuilder::At::~At() { b_.open_.insert(b_.open_.end(), inner_.begin(), inner_.end()); }

// ---- indices ----

Value TileBuilder::Index(int64_t value) {
  return Constant(ElementType::kS64, {static_cast<uint64_t>(value), 0});
}

std::optional<int64_t> TileBuilder::ConstantOf(Value v) const {
  const ValueInfo& info = kernel_->values[static_cast<size_t>(v)];
  if (info.node < 0 || info.type.lanes != 1) return std::nullopt;
  const Node& node = kernel_->nodes[static_cast<size_t>(info.node)];
  if (node.op != Op::kConstant) return std::nullopt;
  return static_cast<int64_t>(node.bits[0]);
}

Value TileBuilder::IndexElement(Opcode opcode, Value a, Value b) {
  const int lanes = std::max(this->lanes(a), this->lanes(b));
  Node node;
  node.op = Op::kElement;
  node.opcode = opcode;
  node.operands = {Splat(a, lanes), Splat(b, lanes)};
  return Append(std::move(node), {ElementType::kS64, lanes}, Purity::kIndex);
}

Value TileBuilder::Add(Value a, Value b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Index(*x + *y);
  if (x && *x == 0) return b;
  if (y && *y == 0) return a;
  return IndexElement(Opcode::kAdd, a, b);
}

Value TileBuilder::Sub(Value a, Value b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Index(*x - *y);
  if (y && *y == 0) return a;
  return IndexElement(Opcode::kSubtract, a, b);
}

Value TileBuilder::Mul(Value a, Value b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Index(*x * *y);
  if (x && *x == 1) return b;
  if (y && *y == 1) return a;
  if ((x && *x == 0) || (y && *y == 0)) return Index(0);
  return IndexElement(Opcode::kMultiply, a, b);
}

Value TileBuilder::Div(Value a, int64_t b) {
  if (b == 1) return a;
  if (const auto x = ConstantOf(a)) return Index(*x / b);
  Node node;
  node.op = Op::kIndexDiv;
  node.operands = {a, Splat(Index(b), lanes(a))};
  return Append(std::move(node), {ElementType::kS64, lanes(a)}, Purity::kIndex);
}

Value TileBuilder::Rem(Value a, int64_t b) {
  if (b == 1) return Splat(Index(0), lanes(a));
  if (const auto x = ConstantOf(a)) return Index(*x % b);
  Node node;
  node.op = Op::kIndexRem;
  node.operands = {a, Splat(Index(b), lanes(a))};
  return Append(std::move(node), {ElementType::kS64, lanes(a)}, Purity::kIndex);
}

Value TileBuilder::Min(Value a, Value b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Index(std::min(*x, *y));
  return IndexElement(Opcode::kMinimum, a, b);
}

Value TileBuilder::Max(Value a, Value b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Index(std::max(*x, *y));
  return IndexElement(Opcode::kMaximum, a, b);
}

Value TileBuilder::Less(Value a, Value b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Pred(*x < *y);
  ElementAttrs attrs;
  attrs.direction = ComparisonDirection::kLt;
  return Element(Opcode::kCompare, ElementType::kPred, {a, b}, attrs);
}

Value TileBuilder::LessEq(Value a, Value b) {
  const auto x = ConstantOf(a), y = ConstantOf(b);
  if (x && y) return Pred(*x <= *y);
  ElementAttrs attrs;
  attrs.direction = ComparisonDirection::kLe;
  return Element(Opcode::kCompare, ElementType::kPred, {a, b}, attrs);
}

// ---- values ----

Value TileBuilder::Constant(ElementType type, std::array<uint64_t, 2> bits) {
  Node node;
  node.op = Op::kConstant;
  node.bits = bits;
  return Append(std::move(node), {type, 1}, Purity::kIndex);
}

Value TileBuilder::Iota(int lanes) {
  Node node;
  node.op = Op::kIota;
  return Append(std::move(node), {ElementType::kS64, lanes}, Purity::kIndex);
}

Value TileBuilder::Splat(Value v, int lanes) {
  if (this->lanes(v) == lanes) return v;
  HLO_DCHECK(this->lanes(v) == 1);
  Node node;
  node.op = Op::kSplat;
  node.operands = {v};
  return Append(std::move(node), {type(v).element, lanes}, Purity::kIndex);
}

Value TileBuilder::Element(Opcode opcode, ElementType result, absl::Span<const Value> operands,
                           ElementAttrs attrs) {
  int lanes = 1;
  for (const Value v : operands) lanes = std::max(lanes, this->lanes(v));
  Node node;
  node.op = Op::kElement;
  node.opcode = opcode;
  node.attrs = attrs;
  for (const Value v : operands) node.operands.push_back(Splat(v, lanes));
  return Append(std::move(node), {result, lanes}, Purity::kPure);
}

Value TileBuilder::Select(Value pred, Value on_true, Value on_false) {
  if (const auto known = ConstantOf(pred)) return *known != 0 ? on_true : on_false;
  if (on_true == on_false) return on_true;
  return Element(Opcode::kSelect, type(on_true).element, {pred, on_true, on_false});
}

Value TileBuilder::Convert(Value v, ElementType to) {
  if (type(v).element == to) return v;
  return Element(Opcode::kConvert, to, {v});
}

Value TileBuilder::Shuffle(Value a, Value b, absl::Span<const int16_t> lane_list) {
  Node node;
  node.op = Op::kShuffle;
  node.operands = {a, b};
  node.lane_list.assign(lane_list.begin(), lane_list.end());
  return Append(std::move(node), {type(a).element, static_cast<int32_t>(lane_list.size())},
                Purity::kPure);
}

Value TileBuilder::Lane(Value v, int lane) {
  if (lanes(v) == 1) return v;
  return Shuffle(v, v, {static_cast<int16_t>(lane)});
}

// ---- memory ----

TileBuilder::Purity TileBuilder::LoadPurity(int buffer) const {
  return kernel_->buffers[static_cast<size_t>(buffer)].written ? Purity::kFixed : Purity::kPure;
}

Value TileBuilder::Load(int buffer, Value index, int lanes, int64_t stride) {
  if (lanes > 1 && stride == 0 && this->lanes(index) == 1) return Splat(Load(buffer, index), lanes);
  Node node;
  node.op = Op::kLoad;
  node.buffer = static_cast<int16_t>(buffer);
  node.stride = lanes == 1 || this->lanes(index) > 1 ? 1 : stride;
  node.operands = {index};
  const ElementType type = kernel_->buffers[static_cast<size_t>(buffer)].type;
  return Append(std::move(node), {type, lanes}, LoadPurity(buffer));
}

Value TileBuilder::LoadMasked(int buffer, Value index, int lanes, int64_t stride, Value mask,
                              Value fallback) {
  if (const auto known = ConstantOf(mask)) {
    return *known != 0 ? Load(buffer, index, lanes, stride) : Splat(fallback, lanes);
  }
  Node node;
  node.op = Op::kLoad;
  node.buffer = static_cast<int16_t>(buffer);
  node.stride = lanes == 1 || this->lanes(index) > 1 ? 1 : stride;
  node.operands = {index, Splat(mask, lanes), Splat(fallback, lanes)};
  const ElementType type = kernel_->buffers[static_cast<size_t>(buffer)].type;
  return Append(std::move(node), {type, lanes}, LoadPurity(buffer));
}

void TileBuilder::Store(int buffer, Value index, Value value, int64_t stride) {
  Node node;
  node.op = Op::kStore;
  node.buffer = static_cast<int16_t>(buffer);
  node.stride = lanes(value) == 1 || lanes(index) > 1 ? 1 : stride;
  node.operands = {index, value};
  HLO_DCHECK(kernel_->buffers[static_cast<size_t>(buffer)].written);
  Place(std::move(node), open_.back());
}

// ---- structure ----

int32_t TileBuilder::OpenBlock(bool conditional) {
  const auto number = static_cast<int32_t>(kernel_->blocks.size());
  Block block;
  block.parent = open_.back();
  block.depth = static_cast<int32_t>(open_.size());
  block.conditional = conditional;
  kernel_->blocks.push_back(std::move(block));
  open_.push_back(number);
  return number;
}

Values TileBuilder::BeginLoop(Value lo, Value hi, int64_t step, absl::Span<const Value> initial) {
  Node node;
  node.op = Op::kLoop;
  node.stride = step;
  node.operands = {lo, hi};
  node.operands.insert(node.operands.end(), initial.begin(), initial.end());
  const int32_t block = OpenBlock(/*conditional=*/false);
  node.blocks.push_back(block);
  Values arguments = {NewValue(kIndexType, -1, block)};
  for (const Value v : initial) arguments.push_back(NewValue(type(v), -1, block));
  kernel_->blocks[static_cast<size_t>(block)].arguments = arguments;
  pending_.push_back(std::move(node));
  return arguments;
}

Values TileBuilder::EndLoop(absl::Span<const Value> next) {
  kernel_->blocks[static_cast<size_t>(open_.back())].yields.assign(next.begin(), next.end());
  open_.pop_back();
  Node node = std::move(pending_.back());
  pending_.pop_back();
  const int32_t block = open_.back();
  const int32_t number = Place(std::move(node), block);
  Values results;
  for (const Value v : next) results.push_back(NewValue(type(v), number, block));
  kernel_->nodes[static_cast<size_t>(number)].results = results;
  return results;
}

void TileBuilder::BeginIf(Value condition) {
  Node node;
  node.op = Op::kIf;
  node.operands = {condition};
  node.blocks.push_back(OpenBlock(/*conditional=*/true));
  pending_.push_back(std::move(node));
}

void TileBuilder::Else(absl::Span<const Value> yields) {
  kernel_->blocks[static_cast<size_t>(open_.back())].yields.assign(yields.begin(), yields.end());
  open_.pop_back();
  const int32_t block = OpenBlock(/*conditional=*/true);
  pending_.back().blocks.push_back(block);
}

Values TileBuilder::EndIf(absl::Span<const Value> yields) { return EndLoop(yields); }

}  // namespace hlo::cpu::tile
