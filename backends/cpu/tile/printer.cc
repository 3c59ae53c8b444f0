// Text and cache key of a kernel. See tile_ir.h.
#include <fmt/format.h>

#include <iterator>

#include "backends/cpu/tile/tile_ir.h"
#include "lib/types/literal.h"

namespace hlo::cpu::tile {
namespace {

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string Print() {
    out_ = "kernel(";
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& buffer = kernel_.buffers[i];
      Append("{}b{}: {}[{}]", i == 0 ? "" : ", ", i, hlo::Text(buffer.type), buffer.elements);
      if (buffer.kind == BufferKind::kConstant) out_ += " constant";
      if (buffer.kind == BufferKind::kScratch) out_ += " scratch";
      if (buffer.written) out_ += " write";
    }
    const Block& body = kernel_.blocks[0];
    Append(") tasks [%{}, %{})\n", body.arguments[0], body.arguments[1]);
    PrintBlock(body, 1);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void Append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void PrintType(Type type) {
    Append("{}", hlo::Text(type.element));
    if (type.lanes != 1) Append("x{}", type.lanes);
  }

  void PrintList(const Values& values) {
    for (size_t i = 0; i < values.size(); ++i) Append("{}%{}", i == 0 ? "" : ", ", values[i]);
  }

  void PrintConstant(const Node& node) {
    const ElementType type = kernel_.type(node.results[0]).element;
    Literal literal(Shape::Scalar(type));
    std::copy_n(reinterpret_cast<const uint8_t*>(node.bits.data()), ByteSize(type),
                literal.mutable_data());
    Append("constant {}", literal.ToString());
  }

  void PrintAddress(const Node& node) {
    Append("b{}[%{}", node.buffer, node.operands[0]);
    if (node.stride != 1) Append(" stride {}", node.stride);
    out_ += "]";
  }

  void PrintElement(const Node& node) {
    Append("{} ", hlo::Text(node.opcode));
    PrintList(node.operands);
    if (node.opcode == Opcode::kCompare) {
      Append(", {}", hlo::Text(node.attrs.direction));
      if (node.attrs.comparison == ComparisonType::kTotalOrder) out_ += " TOTALORDER";
    }
    if (node.opcode == Opcode::kReducePrecision) {
      Append(", e{}m{}", node.attrs.exponent_bits, node.attrs.mantissa_bits);
    }
  }

  void PrintLoop(const Node& node, int depth) {
    const Block& body = kernel_.blocks[node.blocks[0]];
    Append("loop %{} = %{} to %{} step {}", body.arguments[0], node.operands[0], node.operands[1],
           node.stride);
    for (size_t i = 1; i < body.arguments.size(); ++i) {
      Append("{}%{} = %{}", i == 1 ? " carry " : ", ", body.arguments[i], node.operands[i + 1]);
    }
    PrintBody(body, depth);
  }

  void PrintBody(const Block& body, int depth) {
    out_ += " {\n";
    PrintBlock(body, depth + 1);
    out_.append(2 * depth, ' ');
    out_ += "}";
    if (!body.yields.empty()) {
      out_ += " yield ";
      PrintList(body.yields);
    }
  }

  void PrintNode(const Node& node, int depth) {
    out_.append(2 * depth, ' ');
    for (size_t i = 0; i < node.results.size(); ++i) {
      Append("{}%{}:", i == 0 ? "" : ", ", node.results[i]);
      PrintType(kernel_.type(node.results[i]));
    }
    if (!node.results.empty()) out_ += " = ";
    switch (node.op) {
      case Op::kConstant: PrintConstant(node); break;
      case Op::kIota: out_ += "iota"; break;
      case Op::kElement: PrintElement(node); break;
      case Op::kSplat:
      case Op::kIndexDiv:
      case Op::kIndexRem:
        Append("{} ", Text(node.op));
        PrintList(node.operands);
        break;
      case Op::kShuffle:
        out_ += "shuffle ";
        PrintList(node.operands);
        Append(" [{}]", fmt::join(node.lane_list, " "));
        break;
      case Op::kLoad:
        out_ += "load ";
        PrintAddress(node);
        if (node.operands.size() > 1)
          Append(", mask %{} else %{}", node.operands[1], node.operands[2]);
        break;
      case Op::kStore:
        out_ += "store ";
        PrintAddress(node);
        Append(", %{}", node.operands[1]);
        break;
      case Op::kLoop: PrintLoop(node, depth); break;
      case Op::kIf:
        Append("if %{}", node.operands[0]);
        PrintBody(kernel_.blocks[node.blocks[0]], depth);
        out_ += " else";
        PrintBody(kernel_.blocks[node.blocks[1]], depth);
        break;
    }
    out_ += "\n";
  }

  void PrintBlock(const Block& block, int depth) {
    for (const int32_t n : block.nodes) PrintNode(kernel_.nodes[n], depth);
  }

  const Kernel& kernel_;
  std::string out_;
};

template <class T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class List>
void PutList(std::string& out, const List& list) {
  Put(out, static_cast<int32_t>(list.size()));
  for (const auto& item : list) Put(out, item);
}

}  // namespace

std::string_view Text(Op op) {
  switch (op) {
    case Op::kConstant: return "constant";
    case Op::kIota: return "iota";
    case Op::kSplat: return "splat";
    case Op::kElement: return "element";
    case Op::kIndexDiv: return "index-div";
    case Op::kIndexRem: return "index-rem";
    case Op::kShuffle: return "shuffle";
    case Op::kLoad: return "load";
    case Op::kStore: return "store";
    case Op::kLoop: return "loop";
    case Op::kIf: return "if";
  }
  return "";
}

int Kernel::argument_count() const {
  int count = 0;
  for (const Buffer& buffer : buffers) count += buffer.kind == BufferKind::kArgument ? 1 : 0;
  return count;
}

std::string Kernel::ToString() const { return Printer(*this).Print(); }

std::string Kernel::Key() const {
  std::string key;
  key.reserve(64 * nodes.size() + 64);
  for (const Buffer& buffer : buffers) {
    Put(key, static_cast<uint8_t>(buffer.kind));
    Put(key, static_cast<uint8_t>(buffer.type));
    Put(key, static_cast<uint8_t>(buffer.written));
    Put(key, static_cast<uint8_t>(buffer.elements == 0));
    Put(key, buffer.offset);
    PutList(key, buffer.data);
  }
  for (const Block& block : blocks) {
    PutList(key, block.arguments);
    PutList(key, block.nodes);
    PutList(key, block.yields);
  }
  for (const Node& node : nodes) {
    Put(key, static_cast<uint8_t>(node.op));
    Put(key, static_cast<uint8_t>(node.opcode));
    Put(key, static_cast<uint8_t>(node.attrs.direction));
    Put(key, static_cast<uint8_t>(node.attrs.comparison));
    Put(key, node.attrs.exponent_bits);
    Put(key, node.attrs.mantissa_bits);
    Put(key, node.buffer);
    Put(key, node.stride);
    Put(key, node.bits);
    PutList(key, node.operands);
    PutList(key, node.results);
    PutList(key, node.blocks);
    PutList(key, node.lane_list);
  }
  for (const ValueInfo& value : values) {
    Put(key, static_cast<uint8_t>(value.type.element));
    Put(key, value.type.lanes);
  }
  return key;
}

}  // namespace hlo::cpu::tile
