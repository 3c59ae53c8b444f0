#include "backends/cpu/tile/evaluator.h"

#include <cstring>
#include <vector>

#include "lib/eval/elementwise.h"
#include "lib/eval/scalar_ops.h"
#include "lib/support/status.h"

namespace hlo::cpu::tile {
namespace {

class Evaluator {
 public:
  Evaluator(const Kernel& kernel, absl::Span<void* const> buffers)
      : kernel_(kernel), scratch_(kernel.scratch_bytes), values_(kernel.values.size()) {
    size_t argument = 0;
    for (const Buffer& buffer : kernel.buffers) {
      switch (buffer.kind) {
        case BufferKind::kArgument:
          buffers_.push_back(static_cast<uint8_t*>(buffers[argument++]));
          break;
        case BufferKind::kConstant:
          buffers_.push_back(const_cast<uint8_t*>(buffer.data.data()));
          break;
        case BufferKind::kScratch: buffers_.push_back(scratch_.data() + buffer.offset); break;
      }
    }
  }

  absl::Status Run(int64_t begin, int64_t end) {
    SetIndex(kernel_.blocks[0].arguments[0], begin);
    SetIndex(kernel_.blocks[0].arguments[1], end);
    return RunBlock(kernel_.blocks[0]);
  }

 private:
  using Bytes = std::vector<uint8_t>;

  Bytes& Fresh(Value v) {
    const Type type = kernel_.type(v);
    values_[v].resize(static_cast<size_t>(ByteSize(type.element)) * type.lanes);
    return values_[v];
  }
  void SetIndex(Value v, int64_t value) { std::memcpy(Fresh(v).data(), &value, sizeof value); }
  int64_t GetIndex(Value v, int lane = 0) const {
    int64_t value;
    std::memcpy(&value, values_[v].data() + 8 * lane, sizeof value);
    return value;
  }
  bool GetPred(Value v, int lane = 0) const { return values_[v][lane] != 0; }

  absl::Status RunBlock(const Block& block) {
    for (const int32_t n : block.nodes) RETURN_IF_ERROR(RunNode(kernel_.nodes[n]));
    return absl::OkStatus();
  }

  absl::Status RunNode(const Node& node) {
    switch (node.op) {
      case Op::kConstant:
        FillLanes(node.results[0], reinterpret_cast<const uint8_t*>(node.bits.data()));
        break;
      case Op::kSplat: {
        const Bytes scalar = values_[node.operands[0]];
        FillLanes(node.results[0], scalar.data());
        break;
      }
      case Op::kIota: {
        Bytes& out = Fresh(node.results[0]);
        for (int64_t lane = 0; lane < kernel_.type(node.results[0]).lanes; ++lane) {
          std::memcpy(out.data() + 8 * lane, &lane, sizeof lane);
        }
        break;
      }
      case Op::kIndexDiv:
      case Op::kIndexRem: return RunDivision(node);
      case Op::kElement: return RunElement(node);
      case Op::kShuffle: RunShuffle(node); break;
      case Op::kLoad: return RunLoad(node);
      case Op::kStore: return RunStore(node);
      case Op::kLoop: return RunLoop(node);
      case Op::kIf: {
        const Block& branch = kernel_.blocks[node.blocks[GetPred(node.operands[0]) ? 0 : 1]];
        RETURN_IF_ERROR(RunBlock(branch));
        for (size_t i = 0; i < node.results.size(); ++i)
          values_[node.results[i]] = values_[branch.yields[i]];
        break;
      }
    }
    return absl::OkStatus();
  }

  void FillLanes(Value v, const uint8_t* scalar) {
    Bytes& out = Fresh(v);
    const size_t size = ByteSize(kernel_.type(v).element);
    for (size_t at = 0; at < out.size(); at += size) std::memcpy(out.data() + at, scalar, size);
  }

  absl::Status RunDivision(const Node& node) {
    for (int lane = 0; lane < kernel_.type(node.results[0]).lanes; ++lane) {
      const int64_t a = GetIndex(node.operands[0], lane), b = GetIndex(node.operands[1], lane);
      RET_CHECK(a >= 0 && b > 0, "{} of {} by {}", Text(node.op), a, b);
      const int64_t result = node.op == Op::kIndexDiv ? a / b : a % b;
      if (lane == 0) Fresh(node.results[0]);
      std::memcpy(values_[node.results[0]].data() + 8 * lane, &result, sizeof result);
    }
    return absl::OkStatus();
  }

  absl::Status RunElement(const Node& node) {
    const Type type = kernel_.type(node.results[0]);
    std::vector<ElementType> types;
    const uint8_t* in[3] = {};
    for (size_t i = 0; i < node.operands.size(); ++i) {
      types.push_back(kernel_.type(node.operands[i]).element);
      in[i] = values_[node.operands[i]].data();
    }
    uint8_t* const out = Fresh(node.results[0]).data();
    if (node.opcode == Opcode::kCompare) return RunCompare(node, types[0], in, out, type.lanes);
    if (node.opcode == Opcode::kReducePrecision)
      return RunReducePrecision(node, types[0], in[0], out, type.lanes);
    if (node.opcode == Opcode::kConvert) {
      ElementwiseOp::Convert(types[0], type.element).Run(in, out, type.lanes);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const ElementwiseOp op, ElementwiseOp::Make(node.opcode, types, type.element));
    op.Run(in, out, type.lanes);
    return absl::OkStatus();
  }

  // Elements as the interpreter computes with them (floats of at least 32 bits).
  static Bytes Widened(ElementType type, const uint8_t* from, int lanes) {
    const ElementType wide = ComputeType(type);
    Bytes bytes(static_cast<size_t>(ByteSize(wide)) * lanes);
    if (const Codec load = FindLoad(type, wide)) {
      load(from, lanes, bytes.data());
    } else {
      std::memcpy(bytes.data(), from, bytes.size());
    }
    return bytes;
  }

  absl::Status RunCompare(const Node& node, ElementType type, const uint8_t* const* in,
                          uint8_t* out, int lanes) {
    const Bytes a = Widened(type, in[0], lanes), b = Widened(type, in[1], lanes);
    const uint8_t* const wide[] = {a.data(), b.data()};
    const hlo::Kernel compare =
        FindCompareKernel(node.attrs.direction, node.attrs.comparison, ComputeType(type));
    RET_CHECK(compare != nullptr, "no comparison of {}", hlo::Text(type));
    compare(wide, out, lanes, BitWidth(type));
    return absl::OkStatus();
  }

  // In the format's own bits, where it has all the codes of IEEE.
  template <class S, class Int>
  static bool ReduceBits(const ElementAttrs& attrs, const uint8_t* in, uint8_t* out, int lanes) {
    for (int lane = 0; lane < lanes; ++lane) {
      const Int code = reinterpret_cast<const Int*>(in)[lane];
      reinterpret_cast<Int*>(out)[lane] = math::ReducePrecisionBits(
          code, {S::kExponentBits, S::kMantissaBits}, {attrs.exponent_bits, attrs.mantissa_bits});
    }
    return true;
  }
  static bool ReduceNarrowPrecision(const ElementAttrs& attrs, ElementType type, const uint8_t* in,
                                    uint8_t* out, int lanes) {
    if (type == ElementType::kF16) return ReduceBits<F16, int16_t>(attrs, in, out, lanes);
    if (type == ElementType::kBF16) return ReduceBits<BF16, int16_t>(attrs, in, out, lanes);
    if (type == ElementType::kF8E5M2) return ReduceBits<F8E5M2, int8_t>(attrs, in, out, lanes);
    if (type == ElementType::kF8E4M3) return ReduceBits<F8E4M3, int8_t>(attrs, in, out, lanes);
    if (type == ElementType::kF8E3M4) return ReduceBits<F8E3M4, int8_t>(attrs, in, out, lanes);
    return false;
  }

  absl::Status RunReducePrecision(const Node& node, ElementType type, const uint8_t* in,
                                  uint8_t* out, int lanes) {
    if (ReduceNarrowPrecision(node.attrs, type, in, out, lanes)) return absl::OkStatus();
    Bytes wide = Widened(type, in, lanes);
    const int e = node.attrs.exponent_bits, m = node.attrs.mantissa_bits;
    for (int lane = 0; lane < lanes; ++lane) {
      if (type == ElementType::kF64) {
        auto* const x = reinterpret_cast<double*>(wide.data()) + lane;
        *x = math::ReducePrecision(*x, e, m);
      } else {
        auto* const x = reinterpret_cast<float*>(wide.data()) + lane;
        *x = math::ReducePrecision(*x, e, m);
      }
    }
    if (const Codec store = FindStore(ComputeType(type), type)) {
      store(wide.data(), lanes, out);
    } else {
      std::memcpy(out, wide.data(), wide.size());
    }
    return absl::OkStatus();
  }

  void RunShuffle(const Node& node) {
    const Bytes a = values_[node.operands[0]], b = values_[node.operands[1]];
    const size_t size = ByteSize(kernel_.type(node.results[0]).element);
    const size_t lanes = a.size() / size;
    Bytes& out = Fresh(node.results[0]);
    for (size_t i = 0; i < node.lane_list.size(); ++i) {
      const auto lane = static_cast<size_t>(node.lane_list[i]);
      std::memcpy(out.data() + i * size, lane < lanes ? &a[lane * size] : &b[(lane - lanes) * size],
                  size);
    }
  }

  absl::StatusOr<uint8_t*> Locate(const Node& node, int lane) {
    const bool per_lane = kernel_.type(node.operands[0]).lanes > 1;
    const int64_t index =
        GetIndex(node.operands[0], per_lane ? lane : 0) + (per_lane ? 0 : lane * node.stride);
    const Buffer& buffer = kernel_.buffers[node.buffer];
    RET_CHECK(index >= 0 && index < buffer.elements, "{} of element {} of b{}, which has {}",
              Text(node.op), index, node.buffer, buffer.elements);
    return buffers_[node.buffer] + index * ByteSize(buffer.type);
  }

  absl::Status RunLoad(const Node& node) {
    const Type type = kernel_.type(node.results[0]);
    const size_t size = ByteSize(type.element);
    Bytes& out = Fresh(node.results[0]);
    for (int lane = 0; lane < type.lanes; ++lane) {
      if (node.operands.size() > 1 && !GetPred(node.operands[1], lane)) {
        std::memcpy(out.data() + lane * size, values_[node.operands[2]].data() + lane * size, size);
        continue;
      }
      ASSIGN_OR_RETURN(const uint8_t* const from, Locate(node, lane));
      std::memcpy(out.data() + lane * size, from, size);
    }
    return absl::OkStatus();
  }

  absl::Status RunStore(const Node& node) {
    const Type type = kernel_.type(node.operands[1]);
    const size_t size = ByteSize(type.element);
    for (int lane = 0; lane < type.lanes; ++lane) {
      if (node.operands.size() > 2 && !GetPred(node.operands[2], lane)) continue;
      ASSIGN_OR_RETURN(uint8_t* const to, Locate(node, lane));
      std::memcpy(to, values_[node.operands[1]].data() + lane * size, size);
    }
    return absl::OkStatus();
  }

  absl::Status RunLoop(const Node& node) {
    const Block& body = kernel_.blocks[node.blocks[0]];
    const int64_t lo = GetIndex(node.operands[0]), hi = GetIndex(node.operands[1]);
    std::vector<Bytes> carried;
    for (size_t i = 2; i < node.operands.size(); ++i) carried.push_back(values_[node.operands[i]]);
    for (int64_t i = lo; i < hi; i += node.stride) {
      SetIndex(body.arguments[0], i);
      for (size_t c = 0; c < carried.size(); ++c) values_[body.arguments[c + 1]] = carried[c];
      RETURN_IF_ERROR(RunBlock(body));
      for (size_t c = 0; c < carried.size(); ++c) carried[c] = values_[body.yields[c]];
    }
    for (size_t c = 0; c < carried.size(); ++c) values_[node.results[c]] = carried[c];
    return absl::OkStatus();
  }

  const Kernel& kernel_;
  Bytes scratch_;
  std::vector<Bytes> values_;
  std::vector<uint8_t*> buffers_;
};

}  // namespace

absl::Status Evaluate(const Kernel& kernel, absl::Span<void* const> buffers, int64_t begin,
                      int64_t end) {
  return Evaluator(kernel, buffers).Run(begin, end);
}

}  // namespace hlo::cpu::tile
