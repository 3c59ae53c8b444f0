#include "backends/cpu/tile/verifier.h"

#include "lib/support/status.h"

namespace hlo::cpu::tile {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel), defined_(kernel.values.size(), false) {}

  absl::Status Run() {
    RET_CHECK(!kernel_.blocks.empty() && kernel_.blocks[0].arguments.size() == 2,
              "a kernel needs a body of two arguments");
    bool arguments_over = false;
    for (const Buffer& buffer : kernel_.buffers) {
      RET_CHECK(buffer.kind == BufferKind::kArgument || !buffer.written ||
                    buffer.kind == BufferKind::kScratch,
                "a constant buffer is written");
      RET_CHECK(buffer.kind != BufferKind::kArgument || !arguments_over,
                "an argument buffer follows another kind");
      arguments_over = arguments_over || buffer.kind != BufferKind::kArgument;
    }
    return CheckBlock(kernel_.blocks[0]);
  }

 private:
  absl::Status CheckBlock(const Block& block) {
    std::vector<Value> own(block.arguments.begin(), block.arguments.end());
    for (const Value v : block.arguments) defined_[v] = true;
    for (const int32_t n : block.nodes) {
      const Node& node = kernel_.nodes[n];
      for (const Value v : node.operands) {
        RET_CHECK(v >= 0 && v < static_cast<Value>(defined_.size()) && defined_[v],
                  "{} uses %{} before its definition", Text(node.op), v);
      }
      RETURN_IF_ERROR(CheckNode(node));
      for (const Value v : node.results) defined_[v] = true;
      own.insert(own.end(), node.results.begin(), node.results.end());
    }
    for (const Value v : block.yields)
      RET_CHECK(defined_[v], "a block yields %{}, which is not defined there", v);
    for (const Value v : own) defined_[v] = false;
    return absl::OkStatus();
  }

  Type TypeOf(const Node& node, size_t operand) const {
    return kernel_.type(node.operands[operand]);
  }

  absl::Status CheckNode(const Node& node) {
    switch (node.op) {
      case Op::kConstant:
      case Op::kIota: return CheckCount(node, 0);
      case Op::kSplat: {
        RETURN_IF_ERROR(CheckCount(node, 1));
        RET_CHECK(TypeOf(node, 0).lanes == 1, "splat of a vector");
        return absl::OkStatus();
      }
      case Op::kIndexDiv:
      case Op::kIndexRem:
      case Op::kElement: return CheckElement(node);
      case Op::kShuffle: return CheckShuffle(node);
      case Op::kLoad: return CheckMemory(node, kernel_.type(node.results[0]), 1, 3);
      case Op::kStore: {
        RET_CHECK(kernel_.buffers[node.buffer].written, "store to b{}, which is only read",
                  node.buffer);
        return CheckMemory(node, TypeOf(node, 1), 2, 2);
      }
      case Op::kLoop: return CheckLoop(node);
      case Op::kIf: return CheckIf(node);
    }
    return absl::OkStatus();
  }

  absl::Status CheckCount(const Node& node, size_t count) {
    RET_CHECK(node.operands.size() == count && node.results.size() == 1,
              "{} has {} operands, expected {}", Text(node.op), node.operands.size(), count);
    return absl::OkStatus();
  }

  absl::Status CheckElement(const Node& node) {
    RET_CHECK(node.results.size() == 1 && !node.operands.empty() && node.operands.size() <= 3,
              "an element node has {} operands", node.operands.size());
    const Type result = kernel_.type(node.results[0]);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      RET_CHECK(TypeOf(node, i).lanes == result.lanes, "`{}` has {} lanes and operand {} has {}",
                hlo::Text(node.opcode), result.lanes, i, TypeOf(node, i).lanes);
    }
    return absl::OkStatus();
  }

  absl::Status CheckShuffle(const Node& node) {
    RET_CHECK(node.operands.size() == 2 && TypeOf(node, 0) == TypeOf(node, 1),
              "shuffle of two types");
    for (const int16_t lane : node.lane_list) {
      RET_CHECK(lane >= 0 && lane < 2 * TypeOf(node, 0).lanes, "shuffle takes lane {}", lane);
    }
    return absl::OkStatus();
  }

  absl::Status CheckMemory(const Node& node, Type type, size_t least, size_t most) {
    RET_CHECK(node.buffer >= 0 && node.buffer < static_cast<int>(kernel_.buffers.size()),
              "no buffer b{}", node.buffer);
    RET_CHECK(node.operands.size() >= least && node.operands.size() <= most, "{} has {} operands",
              Text(node.op), node.operands.size());
    RET_CHECK(kernel_.buffers[node.buffer].type == type.element, "{} of {} in b{}", Text(node.op),
              hlo::Text(type.element), node.buffer);
    const Type index = TypeOf(node, 0);
    RET_CHECK(index.element == ElementType::kS64 && (index.lanes == 1 || index.lanes == type.lanes),
              "{} with an index of {} lanes", Text(node.op), index.lanes);
    if (node.op == Op::kLoad && node.operands.size() > 1) {
      RET_CHECK(node.operands.size() == 3 && TypeOf(node, 2) == type,
                "masked load without fallback");
      RET_CHECK((TypeOf(node, 1) == Type{ElementType::kPred, type.lanes}),
                "load with a mask of another shape");
    }
    return absl::OkStatus();
  }

  absl::Status CheckLoop(const Node& node) {
    RET_CHECK(node.blocks.size() == 1 && node.stride > 0, "a loop needs a body and a step");
    const Block& body = kernel_.blocks[node.blocks[0]];
    RET_CHECK(node.operands.size() >= 2 && body.arguments.size() + 1 == node.operands.size() &&
                  body.yields.size() + 2 == node.operands.size() &&
                  node.results.size() == body.yields.size(),
              "a loop carries {} values and yields {}", node.operands.size() - 2,
              body.yields.size());
    for (size_t i = 0; i < body.yields.size(); ++i) {
      const Type type = TypeOf(node, i + 2);
      RET_CHECK(kernel_.type(body.arguments[i + 1]) == type &&
                    kernel_.type(body.yields[i]) == type && kernel_.type(node.results[i]) == type,
                "value {} carried by a loop changes its type", i);
    }
    return CheckBlock(body);
  }

  absl::Status CheckIf(const Node& node) {
    RET_CHECK(node.blocks.size() == 2 && node.operands.size() == 1, "an if needs two branches");
    RET_CHECK((TypeOf(node, 0) == Type{ElementType::kPred, 1}),
              "the condition of an if is no scalar pred");
    for (const int32_t b : node.blocks) {
      const Block& branch = kernel_.blocks[b];
      RET_CHECK(branch.yields.size() == node.results.size(),
                "a branch yields {} values, expected {}", branch.yields.size(),
                node.results.size());
      for (size_t i = 0; i < branch.yields.size(); ++i) {
        RET_CHECK(kernel_.type(branch.yields[i]) == kernel_.type(node.results[i]),
                  "branches differ in type");
      }
      RETURN_IF_ERROR(CheckBlock(branch));
    }
    return absl::OkStatus();
  }

  const Kernel& kernel_;
  std::vector<bool> defined_;
};

}  // namespace

absl::Status Verify(const Kernel& kernel) { return Verifier(kernel).Run(); }

}  // namespace hlo::cpu::tile
