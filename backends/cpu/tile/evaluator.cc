#include "backends/cpu/tile/evaluator.h"

#include <cstring>
#include <memory>

#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu::tile {

// One run of the tasks [begin, end).
class EvaluationRun final {
 public:
  EvaluationRun(const Evaluation& evaluation, void* const* buffers, void* scratch, Watch& watch)
      : evaluation_(evaluation),
        kernel_(*evaluation.kernel_),
        watch_(watch),
        memory_(new uint8_t[static_cast<size_t>(evaluation.bytes_)]) {
    for (const Buffer& buffer : kernel_.buffers) {
      switch (buffer.kind) {
        case BufferKind::kArgument: buffers_.push_back(static_cast<uint8_t*>(*buffers++)); break;
        case BufferKind::kConstant:
          buffers_.push_back(const_cast<uint8_t*>(buffer.data.data()));
          break;
        case BufferKind::kScratch:
          buffers_.push_back(static_cast<uint8_t*>(scratch) + buffer.offset);
          break;
      }
    }
  }

  void Run(int64_t begin, int64_t end) {
    SetIndex(kernel_.blocks[0].arguments[0], begin);
    SetIndex(kernel_.blocks[0].arguments[1], end);
    RunBlock(kernel_.blocks[0]);
  }

 private:
  uint8_t* At(Value v) const { return memory_.get() + evaluation_.places_[static_cast<size_t>(v)]; }
  size_t ElementBytes(Value v) const {
    return static_cast<size_t>(ByteSize(kernel_.type(v).element));
  }
  size_t Bytes(Value v) const { return ElementBytes(v) * static_cast<size_t>(Lanes(v)); }
  int64_t Lanes(Value v) const { return kernel_.type(v).lanes; }

  void SetIndex(Value v, int64_t value, int64_t lane = 0) {
    std::memcpy(At(v) + 8 * lane, &value, sizeof value);
  }
  int64_t GetIndex(Value v, int64_t lane = 0) const {
    int64_t value;
    std::memcpy(&value, At(v) + 8 * lane, sizeof value);
    return value;
  }
  bool GetPred(Value v, int64_t lane = 0) const { return At(v)[lane] != 0; }

  // These give false when the run must stop.
  bool RunBlock(const Block& block) {
    for (const int32_t n : block.nodes) {
      if (!RunNode(n)) return false;
    }
    return true;
  }

  bool RunNode(int32_t number) {
    const Node& node = kernel_.nodes[static_cast<size_t>(number)];
    switch (node.op) {
      case Op::kElement: RunElement(node, number); break;
      case Op::kConstant:
        FillLanes(node.results[0], reinterpret_cast<const uint8_t*>(node.bits.data()));
        break;
      case Op::kSplat: FillLanes(node.results[0], At(node.operands[0])); break;
      case Op::kIota:
        for (int64_t lane = 0; lane < Lanes(node.results[0]); ++lane)
          SetIndex(node.results[0], lane, lane);
        break;
      case Op::kIndexDiv:
      case Op::kIndexRem: return RunDivision(node, number);
      case Op::kShuffle: RunShuffle(node); break;
      case Op::kLoad: return RunLoad(node, number);
      case Op::kStore: return RunStore(node, number);
      case Op::kLoop: return RunLoop(node);
      case Op::kIf: {
        const int32_t chosen = node.blocks[GetPred(node.operands[0]) ? 0 : 1];
        const Block& branch = kernel_.blocks[static_cast<size_t>(chosen)];
        if (!RunBlock(branch)) return false;
        Move(branch.yields.data(), node.results.data(), node.results.size());
        break;
      }
    }
    return true;
  }

  void FillLanes(Value v, const uint8_t* scalar) {
    const size_t size = ElementBytes(v), all = Bytes(v);
    for (size_t at = 0; at < all; at += size) std::memcpy(At(v) + at, scalar, size);
  }

  bool RunDivision(const Node& node, int32_t number) {
    for (int64_t lane = 0; lane < Lanes(node.results[0]); ++lane) {
      const int64_t a = GetIndex(node.operands[0], lane), b = GetIndex(node.operands[1], lane);
      if (a < 0 || b <= 0) return watch_.Fail(AccessProblem::kNegative, number, a);
      SetIndex(node.results[0], node.op == Op::kIndexDiv ? a / b : a % b, lane);
    }
    return true;
  }

  void RunElement(const Node& node, int32_t number) {
    const uint8_t* in[ElementwiseOp::kMaxArity] = {};
    for (size_t i = 0; i < node.operands.size(); ++i) in[i] = At(node.operands[i]);
    const auto operation =
        static_cast<size_t>(evaluation_.operation_of_[static_cast<size_t>(number)]);
    evaluation_.operations_[operation].Run(in, At(node.results[0]), Lanes(node.results[0]));
  }

  void RunShuffle(const Node& node) {
    const size_t size = ElementBytes(node.results[0]);
    const auto lanes = static_cast<size_t>(Lanes(node.operands[0]));
    for (size_t i = 0; i < node.lane_list.size(); ++i) {
      const auto lane = static_cast<size_t>(node.lane_list[i]);
      const uint8_t* const from = lane < lanes ? At(node.operands[0]) + lane * size
                                               : At(node.operands[1]) + (lane - lanes) * size;
      std::memcpy(At(node.results[0]) + i * size, from, size);
    }
  }

  // ---- memory ----

  // Whether the lanes that are on may be touched. `mask`: operand that says which, or 0.
  bool Allowed(const Node& node, int32_t number, int64_t lanes, size_t mask) {
    const bool per_lane = Lanes(node.operands[0]) > 1;
    if (!per_lane && mask == 0) return watch_.Allows(number, GetIndex(node.operands[0]));
    for (int64_t lane = 0; lane < lanes; ++lane) {
      if (IsOn(node, mask, lane) && !watch_.AllowsLane(number, IndexOf(node, lane))) return false;
    }
    return true;
  }
  bool IsOn(const Node& node, size_t mask, int64_t lane) const {
    return mask == 0 || GetPred(node.operands[mask], lane);
  }
  int64_t IndexOf(const Node& node, int64_t lane) const {
    if (Lanes(node.operands[0]) > 1) return GetIndex(node.operands[0], lane);
    return GetIndex(node.operands[0]) + lane * node.stride;
  }

  bool RunLoad(const Node& node, int32_t number) {
    const size_t size = ElementBytes(node.results[0]);
    const int64_t lanes = Lanes(node.results[0]);
    const size_t mask = node.operands.size() > 1 ? 1 : 0;
    if (!Allowed(node, number, lanes, mask)) return false;
    const uint8_t* const memory = buffers_[static_cast<size_t>(node.buffer)];
    uint8_t* out = At(node.results[0]);
    for (int64_t lane = 0; lane < lanes; ++lane, out += size) {
      const uint8_t* const from = IsOn(node, mask, lane)
                                      ? memory + IndexOf(node, lane) * static_cast<int64_t>(size)
                                      : At(node.operands[2]) + lane * static_cast<int64_t>(size);
      std::memcpy(out, from, size);
    }
    return true;
  }

  bool RunStore(const Node& node, int32_t number) {
    const size_t size = ElementBytes(node.operands[1]);
    const int64_t lanes = Lanes(node.operands[1]);
    if (!Allowed(node, number, lanes, 0)) return false;
    uint8_t* const memory = buffers_[static_cast<size_t>(node.buffer)];
    const uint8_t* from = At(node.operands[1]);
    for (int64_t lane = 0; lane < lanes; ++lane, from += size) {
      std::memcpy(memory + IndexOf(node, lane) * static_cast<int64_t>(size), from, size);
    }
    return true;
  }

  // ---- structure ----

  // Gives each of `to` the value of the same number in `from`, all at once: a value may be in both.
  void Move(const Value* from, const Value* to, size_t count) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < count; ++i)
      bytes.insert(bytes.end(), At(from[i]), At(from[i]) + Bytes(from[i]));
    const uint8_t* next = bytes.data();
    for (size_t i = 0; i < count; next += Bytes(to[i]), ++i)
      std::memcpy(At(to[i]), next, Bytes(to[i]));
  }

  bool RunLoop(const Node& node) {
    const Block& body = kernel_.blocks[static_cast<size_t>(node.blocks[0])];
    const int64_t lo = GetIndex(node.operands[0]), hi = GetIndex(node.operands[1]);
    const size_t carried = node.results.size();
    const Value* from = node.operands.data() + 2;
    for (int64_t i = lo; i < hi; i += node.stride) {
      Move(from, body.arguments.data() + 1, carried);
      SetIndex(body.arguments[0], i);
      if (!RunBlock(body)) return false;
      from = body.yields.data();
    }
    Move(from, node.results.data(), carried);
    return true;
  }

  const Evaluation& evaluation_;
  const Kernel& kernel_;
  Watch& watch_;
  std::unique_ptr<uint8_t[]> memory_;
  std::vector<uint8_t*> buffers_;
};

// ---- the evaluation ----

absl::StatusOr<Evaluation> Evaluation::Make(const Kernel& kernel) {
  Evaluation evaluation(kernel);
  RETURN_IF_ERROR(evaluation.Prepare());
  return evaluation;
}

absl::StatusOr<ElementwiseOp> Evaluation::OperationOf(const Node& node) const {
  absl::InlinedVector<ElementType, ElementwiseOp::kMaxArity> types;
  for (const Value operand : node.operands) types.push_back(kernel_->type(operand).element);
  const ElementType result = kernel_->type(node.results[0]).element;
  if (node.opcode == Opcode::kCompare)
    return ElementwiseOp::Compare(node.attrs.direction, node.attrs.comparison, types[0]);
  if (node.opcode == Opcode::kReducePrecision) {
    return ElementwiseOp::ReducePrecision(types[0], node.attrs.exponent_bits,
                                          node.attrs.mantissa_bits);
  }
  if (node.opcode == Opcode::kBitcastConvert)
    return ElementwiseOp::BitcastConvert(types[0], result);
  return ElementwiseOp::Make(node.opcode, types, result);
}

absl::Status Evaluation::Prepare() {
  RET_CHECK(!kernel_->blocks.empty(), "a kernel without a body");
  operation_of_.assign(kernel_->nodes.size(), -1);
  for (size_t n = 0; n < kernel_->nodes.size(); ++n) {
    if (kernel_->nodes[n].op != Op::kElement) continue;
    ASSIGN_OR_RETURN(ElementwiseOp operation, OperationOf(kernel_->nodes[n]));
    operation_of_[n] = static_cast<int32_t>(operations_.size());
    operations_.push_back(operation);
  }
  constexpr int64_t kAlignment = 16;
  for (const ValueInfo& value : kernel_->values) {
    places_.push_back(bytes_);
    bytes_ += RoundUp(int64_t{ByteSize(value.type.element)} * value.type.lanes, kAlignment);
  }
  return absl::OkStatus();
}

void Evaluation::Run(void* const* buffers, int64_t begin, int64_t end, void* scratch,
                     Watch& watch) const {
  EvaluationRun(*this, buffers, scratch, watch).Run(begin, end);
}

}  // namespace hlo::cpu::tile
