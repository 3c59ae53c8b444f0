// Kernels that are wrong on purpose: what the checks say, of machine code and of the evaluator.
#include "backends/cpu/kernel_code.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <catch2/catch.hpp>

#include "backends/cpu/kernel_thunk.h"
#include "backends/cpu/tile/builder.h"
#include "backends/llvm/jit.h"
#include "lib/support/child_test_util.h"
#include "lib/support/diagnostic.h"
#include "parser/parser.h"

namespace hlo::cpu {
namespace {

using tile::BufferKind;
using tile::ByteState;
using tile::TileBuilder;
using tile::Value;

// The instruction that the kernels pretend to compute.
constexpr std::string_view kText = R"(HloModule m

ENTRY main {
  x = s32[16] parameter(0)
  ROOT y = s32[16] negate(x)
}
)";

// Loads `lanes` of x from `index`, stores them to y at `target`.
struct Move {
  int lanes = 1;
  int64_t index = 0, target = 0;
  int64_t stride = 1;
  bool per_lane = false;
};

tile::Kernel MoveKernel(const Move& move) {
  tile::Kernel kernel;
  TileBuilder b(&kernel);
  const int x = b.AddBuffer(BufferKind::kArgument, ElementType::kS32, 16);
  const int y = b.AddBuffer(BufferKind::kArgument, ElementType::kS32, 16, /*written=*/true);
  Value index = b.Index(move.index);
  if (move.per_lane)
    index = b.Add(b.Splat(index, move.lanes), b.Scale(b.Iota(move.lanes), move.stride));
  b.Store(y, b.Index(move.target), b.Load(x, index, move.lanes, move.stride));
  return kernel;
}

class Checker {
 public:
  Checker() : module_(*ParseModule(kText)), jit_(*Jit::Create({})) {
    jit_->DefineSymbol(tile::kAllowsSymbol, reinterpret_cast<void*>(&tile::WatchAllows));
    jit_->DefineSymbol(tile::kAllowsLaneSymbol, reinterpret_cast<void*>(&tile::WatchAllowsLane));
  }

  // What a run finds: the message with its place, the same by machine code and by evaluation.
  std::string Run(const tile::Kernel& kernel, absl::Span<void*> buffers,
                  absl::Span<ByteState* const> states = {}, tile::Part part = {}) {
    const std::vector<ByteState> before = Copy(states);
    const std::string compiled = Text(Compiled(kernel).Run(buffers, 0, 1, nullptr, states, part));
    for (size_t i = 0; i < states.size(); ++i) std::copy_n(before.data() + 64 * i, 64, states[i]);
    const KernelCode evaluated = *KernelCode::Evaluated(kernel, root());
    CHECK(Text(evaluated.Run(buffers, 0, 1, nullptr, states, part)) == compiled);
    return compiled;
  }
  const Instruction& root() const { return *module_->entry()->root(); }

 private:
  static std::vector<ByteState> Copy(absl::Span<ByteState* const> states) {
    std::vector<ByteState> copy;
    for (const ByteState* of_buffer : states) copy.insert(copy.end(), of_buffer, of_buffer + 64);
    return copy;
  }
  std::string Text(const absl::Status& status) const {
    return status.ok() ? "" : Render(status, module_->source().get());
  }
  KernelCode Compiled(const tile::Kernel& kernel) {
    llvm::LLVMContext context;
    const auto module = jit_->NewModule(context, "test");
    tile::EmitOptions options;
    options.checked.assign(kernel.nodes.size(), true);
    llvm::Function* const function = *tile::EmitLlvm(kernel, "kernel", options, *module);
    jit_->SetUpFunction(*function);
    code_.push_back(*jit_->Compile(*module));
    return KernelCode(code_.back()->Function<tile::KernelFunction>("kernel"), kernel, root());
  }

  std::unique_ptr<Module> module_;
  std::unique_ptr<Jit> jit_;
  std::vector<std::unique_ptr<CompiledCode>> code_;
};

struct Memory {
  alignas(64) int32_t x[24] = {}, y[24] = {};
  ByteState x_states[64], y_states[64];
  void* buffers[2] = {x, y};
  ByteState* states[2] = {x_states, y_states};
  Memory() {
    std::fill_n(x_states, 64, ByteState::kWritten);
    std::fill_n(y_states, 64, ByteState::kUnwritten);
  }
};

TEST_CASE("an access outside of its buffer is found before it happens", "[cpu][sanitizer]") {
  Checker checker;
  Memory m;
  CHECK(checker.Run(MoveKernel({.lanes = 8, .index = 8, .target = 8}), m.buffers) == "");
  CHECK(
      checker.Run(MoveKernel({.lanes = 8, .index = 9}), m.buffers) ==
      "<text>:5:8: error: kernel of `y`: load of element 16 of operand 0 `x` (s32[16], 64 bytes), "
      "outside of it\n"
      "  ROOT y = s32[16] negate(x)\n"
      "       ^\n");
  const auto has = [&](const Move& move, std::string_view text) {
    const std::string message = checker.Run(MoveKernel(move), m.buffers);
    CAPTURE(message, text);
    CHECK(message.find(text) != std::string::npos);
  };
  m.y[16] = 7;
  has({.lanes = 4, .target = 13}, "store of element 16 of the result (s32[16], 64 bytes)");
  CHECK(m.y[16] == 7);
  has({.lanes = 4, .index = 5, .stride = -2}, "load of element -1 of operand 0 `x`");
  has({.lanes = 4, .index = 9, .stride = 3, .per_lane = true}, "load of element 18 of operand 0");
}

TEST_CASE("an access that is not aligned as its instruction wants is found", "[cpu][sanitizer]") {
  Checker checker;
  Memory m;
  void* shifted[2] = {m.x, reinterpret_cast<std::byte*>(m.y) + 2};
  const std::string message = checker.Run(MoveKernel({.lanes = 8, .target = 4}), shifted);
  CHECK(message.find("store of element 4 of the result (s32[16], 64 bytes), misaligned: address") !=
        std::string::npos);
  CHECK(message.find("alignment 4") != std::string::npos);
}

TEST_CASE("reads of what nobody wrote, or of what is written over, are found", "[cpu][sanitizer]") {
  Checker checker;
  Memory m;
  CHECK(checker.Run(MoveKernel({.lanes = 8}), m.buffers, m.states) == "");
  CHECK(m.y_states[31] == ByteState::kJustNow);
  CHECK(m.y_states[32] == ByteState::kUnwritten);
  m.x_states[30] = ByteState::kUnwritten;
  std::string message = checker.Run(MoveKernel({.lanes = 8}), m.buffers, m.states);
  CHECK(message.find("load of element 7 of operand 0 `x` (s32[16], 64 bytes), which nobody has "
                     "written") != std::string::npos);
  m.x_states[30] = ByteState::kJustNow;
  message = checker.Run(MoveKernel({.lanes = 8}), m.buffers, m.states);
  CHECK(message.find("load of element 7 of operand 0 `x` (s32[16], 64 bytes), which the kernel has "
                     "already written over") != std::string::npos);
}

// Adds x to y, as an update in place does.
tile::Kernel AddKernel() {
  tile::Kernel kernel;
  TileBuilder b(&kernel);
  const int x = b.AddBuffer(BufferKind::kArgument, ElementType::kS32, 16);
  const int y = b.AddBuffer(BufferKind::kArgument, ElementType::kS32, 16, /*written=*/true);
  const Value at = b.Index(3);
  b.Store(y, at, b.Element(Opcode::kAdd, ElementType::kS32, {b.Load(y, at), b.Load(x, at)}));
  return kernel;
}

TEST_CASE("what two parts of a launch may not share is found", "[cpu][sanitizer]") {
  Checker checker;
  Memory m;
  // Both compute the same; but where each has its own, they may not meet.
  m.y_states[0] = tile::JustNowBy(1);
  CHECK(checker.Run(MoveKernel({}), m.buffers, m.states, {.number = 2}) == "");
  m.y_states[0] = tile::JustNowBy(1);
  CHECK(checker.Run(MoveKernel({}), m.buffers, m.states, {.number = 2, .owns = true})
            .find("store of element 0 of the result (s32[16], 64 bytes), which another of its "
                  "tasks writes") != std::string::npos);
  m.y_states[0] = tile::JustNowBy(2);
  CHECK(checker.Run(MoveKernel({}), m.buffers, m.states, {.number = 2, .owns = true}) == "");
  for (int i = 12; i < 16; ++i) m.y_states[i] = tile::JustNowBy(1);
  CHECK(checker.Run(AddKernel(), m.buffers, m.states, {.number = 2})
            .find("load of element 3 of the result (s32[16], 64 bytes), which another of its tasks "
                  "writes") != std::string::npos);
  for (int i = 12; i < 16; ++i) m.y_states[i] = ByteState::kWritten;
  CHECK(checker.Run(AddKernel(), m.buffers, m.states, {.number = 2}) == "");
}

TEST_CASE("what surely is outside is an error when the kernel is made", "[cpu][sanitizer]") {
  Checker checker;
  const auto result =
      AccessesToCheck(MoveKernel({.index = 16}), 1, CpuChecks::kUnproven, checker.root());
  CHECK(result.status().code() == absl::StatusCode::kInternal);
  CHECK(
      std::string(result.status().message())
          .find(
              "kernel of `y`: a load for `y` is outside of operand 0 `x`, which has 16 elements") !=
      std::string::npos);
  const auto inside = AccessesToCheck(MoveKernel({}), 1, CpuChecks::kUnproven, checker.root());
  REQUIRE(inside.ok());
  CHECK(std::count(inside->begin(), inside->end(), true) == 0);
  const auto all = AccessesToCheck(MoveKernel({}), 1, CpuChecks::kAll, checker.root());
  REQUIRE(all.ok());
  CHECK(std::count(all->begin(), all->end(), true) == 2);
}

// Stands for compiled code that a signal has stopped: does what the handler would do.
void CrashingKernel(void**, int64_t, int64_t, void*) { ReportCrash("crash\n", {}); }

TEST_CASE("a crash inside a kernel says where its instruction stands", "[cpu][crash]") {
  const std::unique_ptr<Module> module = *ParseModule(kText);
  const std::string text = ErrorsOf([&] {
    KernelLaunch launch{KernelCode(&CrashingKernel), module->entry()->root()};
    launch.result_count = 0;
    CpuState state;
    HostStream stream;
    static_cast<void>(KernelThunk("y", std::move(launch)).Execute(state, stream));
  });
  CHECK(text ==
        "crash\n"
        "  in the kernel of `y`, at <text>:5:8\n"
        "    ROOT y = s32[16] negate(x)\n"
        "         ^\n");
}

}  // namespace
}  // namespace hlo::cpu
