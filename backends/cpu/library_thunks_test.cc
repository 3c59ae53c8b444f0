// Thunks of the library against the evaluator, one instruction at a time: the result, that nothing
// else is written, and what the library declines.
#include "backends/cpu/library_thunks.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "backends/common/stored_array.h"
#include "lib/eval/evaluator.h"
#include "lib/eval/in_process_communicator.h"
#include "lib/support/strings.h"
#include "lib/support/thread_pool.h"
#include "lib/types/literal_compare.h"
#include "lib/types/literal_test_util.h"
#include "parser/parser.h"

namespace hlo::cpu {
namespace {

using MakeThunk = absl::StatusOr<std::unique_ptr<Thunk>> (*)(const Instruction&,
                                                             const ThunkBuffers&,
                                                             const LibraryOptions&);

absl::StatusOr<std::unique_ptr<Thunk>> MakeEval(const Instruction& instruction,
                                                const ThunkBuffers& buffers,
                                                const LibraryOptions&) {
  return MakeEvalThunk(instruction, buffers);
}

// One instruction in memory: an allocation for each leaf of its operands and of its result.
class Program {
 public:
  // `root` is the instruction, of these parameters; `more` are computations before the entry.
  Program(std::string_view parameters, std::string_view root, std::string_view more = "")
      : module_(*ParseModule(fmt::format("HloModule m\n{}\nENTRY e {{\n{}\nROOT r = {}\n}}\n", more,
                                         parameters, root))) {
    for (const Instruction* operand : instruction().operands())
      buffers_.operands.push_back(Place(operand->shape()));
    buffers_.results = Place(instruction().shape());
    buffers_.kernel_state = 0;
  }

  const Instruction& instruction() const { return *module_->entry()->root(); }
  ThunkBuffers& buffers() { return buffers_; }
  const ThunkBuffers& buffers() const { return buffers_; }

  absl::StatusOr<std::unique_ptr<Thunk>> Make(MakeThunk make, int threads = 2) const {
    LibraryOptions options;
    options.host = *DetectHost();
    options.threads = threads;
    return make(instruction(), buffers_, options);
  }

  // A state with these operands, and room of its own.
  struct Memory {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<std::byte> scratch;
    CpuState state;
  };
  std::unique_ptr<Memory> Load(const Thunk& thunk, const std::vector<Literal>& operands,
                               ThreadPool& pool) const {
    auto memory = std::make_unique<Memory>();
    for (const int64_t size : sizes_)
      memory->bytes.emplace_back(static_cast<size_t>(size) + 2 * kRim, kUntouched);
    memory->scratch.resize(static_cast<size_t>(thunk.scratch_bytes()) + 64);
    CpuState& state = memory->state;
    for (std::vector<std::byte>& bytes : memory->bytes)
      state.addresses.push_back(Aligned(bytes.data()));
    state.scratch = Aligned(memory->scratch.data());
    state.pool = &pool;
    state.kernels.resize(1);
    for (size_t i = 0; i < operands.size(); ++i) Store(operands[i], i, state);
    return memory;
  }
  void Store(const Literal& value, size_t operand, CpuState& state) const {
    size_t next = 0;
    REQUIRE(StoreValue(value, instruction().operand(static_cast<int>(operand))->shape(),
                       buffers_.operands[operand], next,
                       [&](const BufferSlice& slice) { return state.Address(slice); })
                .ok());
  }
  Literal Result(const CpuState& state) const {
    size_t next = 0;
    return LoadValue(instruction().shape(), buffers_.results, next,
                     [&](const BufferSlice& slice) { return state.Address(slice); });
  }
  // Whether the bytes around each array are as they were.
  bool RimsAreWhole(const Memory& memory) const {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      const std::byte* const begin = memory.state.addresses[i];
      const std::byte* const end = memory.bytes[i].data() + memory.bytes[i].size();
      for (const std::byte* at = begin + sizes_[i]; at != end; ++at)
        if (*at != kUntouched) return false;
      for (const std::byte* at = memory.bytes[i].data(); at != begin; ++at)
        if (*at != kUntouched) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kRim = 64;
  static constexpr std::byte kUntouched{0xA5};

  static std::byte* Aligned(std::byte* at) {
    return reinterpret_cast<std::byte*>(RoundUp(reinterpret_cast<intptr_t>(at), intptr_t{64}));
  }
  std::vector<BufferSlice> Place(Shape shape) {
    std::vector<BufferSlice> slices;
    ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
      const int64_t bytes = StoredBytes(leaf);
      slices.push_back({static_cast<int>(sizes_.size()), 0, bytes});
      sizes_.push_back(bytes);
    });
    return slices;
  }

  std::unique_ptr<Module> module_;
  ThunkBuffers buffers_;
  std::vector<int64_t> sizes_;  // of the allocations
};

// Small whole numbers, so that sums are exact in any order.
Literal Numbers(Shape shape, int64_t first) {
  Literal literal(shape);
  for (int64_t i = 0; i < shape.element_count(); ++i)
    literal.SetDouble(i, static_cast<double>((first + i * 7 + i / 5) % 7 - 3));
  return literal;
}

// Symmetric matrices with a large diagonal: positive definite, and good to divide by.
Literal Matrices(Shape shape) {
  Literal literal(shape);
  const int64_t n = shape.dim(shape.rank() - 1);
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    const int64_t row = i / n % n, column = i % n;
    literal.SetDouble(i, row == column ? 8 + static_cast<double>(row) : 1.0 / (1 + row + column));
  }
  return literal;
}

struct Case {
  std::string_view kind;  // of the thunk
  MakeThunk make;
  std::string_view parameters, root;
  std::string_view more = "";
  double tolerance = 0;
  bool has_matrix = false;  // as operand 0
};

constexpr std::string_view kTotalOrder = R"(before {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT gt = pred[] compare(a, b), direction=GT, type=TOTALORDER
})";

const Case kCases[] = {
    {"dot", MakeDotThunk, "a = f32[3,5,7] parameter(0)\nb = f32[3,7,4] parameter(1)",
     "f32[3,5,4] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}"},
    {"dot", MakeDotThunk, "a = s32[40] parameter(0)\nb = s32[40] parameter(1)",
     "s32[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
    {"convolution", MakeConvThunk, "a = f32[2,6,5,3] parameter(0)\nb = f32[3,2,3,4] parameter(1)",
     "f32[2,6,3,4] convolution(a, b), window={size=3x2 pad=1_1x1_1 stride=1x2}, "
     "dim_labels=b01f_01io->b01f"},
    {"sort", MakeSortThunk, "a = f32[5,9] parameter(0)\nb = s32[5,9] parameter(1)",
     "(f32[5,9], s32[5,9]) sort(a, b), dimensions={1}, is_stable=true, to_apply=before",
     kTotalOrder},
    {"topk", MakeTopKThunk, "a = f32[3,20] parameter(0)",
     "(f32[3,4], s32[3,4]) topk(a), k=4, largest=true"},
    {"fft", MakeFftThunk, "a = c64[3,12] parameter(0)",
     "c64[3,12] fft(a), fft_type=FFT, fft_length={12}", "", 1e-4},
    {"cholesky", MakeCholeskyThunk, "a = f32[2,6,6] parameter(0)",
     "f32[2,6,6] cholesky(a), lower=true", "", 1e-5, /*has_matrix=*/true},
    {"triangular-solve", MakeTriangularSolveThunk,
     "a = f32[2,6,6] parameter(0)\nb = f32[2,6,3] parameter(1)",
     "f32[2,6,3] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE", "",
     1e-5, /*has_matrix=*/true},
    {"linear algebra", MakeLinalgCallThunk, "a = f32[3,4,4]{1,2,0} parameter(0)",
     "(f32[3,4,4]{1,2,0}, s32[3]{0}) custom-call(a), custom_call_target=\"lapack_spotrf_ffi\", "
     "operand_layout_constraints={f32[3,4,4]{1,2,0}}, api_version=API_VERSION_TYPED_FFI, "
     "backend_config={uplo = 76 : ui8}",
     "", 1e-5, /*has_matrix=*/true},
    {"collective", MakeCollectiveThunk, "a = f32[3,4] parameter(0)",
     "f32[3,4] all-reduce(a), replica_groups={}, to_apply=sum",
     "sum {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT s = f32[] add(a, b)\n}"},
    {"eval", MakeEval, "a = f32[3,4] parameter(0)\nb = s32[2] parameter(1)",
     "(f32[3,4], s32[2]) tuple(a, b)"},
    {"eval", MakeEval, "a = f32[3,4] parameter(0)", "f32[4,3] transpose(a), dimensions={1,0}"},
};

std::vector<Literal> OperandsOf(const Case& row, const Program& program) {
  std::vector<Literal> operands;
  for (const Instruction* operand : program.instruction().operands()) {
    const bool is_matrix = row.has_matrix && operands.empty();
    operands.push_back(is_matrix ? Matrices(operand->shape())
                                 : Numbers(operand->shape(), std::ssize(operands)));
  }
  return operands;
}

absl::Status Run(const Thunk& thunk, CpuState& state) {
  HostStream stream;
  return ExecuteThunk(thunk, state, stream).status();
}

TEST_CASE("library thunks compute what the evaluator does", "[cpu][thunk]") {
  for (const Case& row : kCases) {
    INFO(row.root);
    const Program program(row.parameters, row.root, row.more);
    const std::vector<Literal> operands = OperandsOf(row, program);
    Evaluator evaluator;
    const auto expected = evaluator.EvaluateInstruction(program.instruction(), operands);
    REQUIRE(expected.ok());
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      const auto thunk = program.Make(row.make, threads);
      REQUIRE(thunk.ok());
      REQUIRE(*thunk != nullptr);
      CHECK((*thunk)->kind() == row.kind);
      CHECK((*thunk)->name() == "r");
      const auto memory = program.Load(**thunk, operands, pool);
      for (int run = 0; run < 2; ++run) {
        CHECK(Run(**thunk, memory->state).ok());
        const CompareReport report =
            Compare(program.Result(memory->state), *expected, {.abs = row.tolerance});
        INFO(report.ToString());
        CHECK(report.ok());
      }
      CHECK(program.RimsAreWhole(*memory));
      // What it reads and writes is what it was given.
      size_t reads = 0;
      for (const auto& operand : program.buffers().operands) reads += operand.size();
      CHECK((*thunk)->uses().reads.size() == reads);
      CHECK((*thunk)->uses().writes == program.buffers().results);
    }
  }
}

TEST_CASE("an operand that stays is packed again when it is forgotten", "[cpu][thunk]") {
  Program program("a = f32[64,48] parameter(0)\nb = f32[48,80] parameter(1)",
                  "f32[64,80] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  program.buffers().rhs_unchanging = true;
  ThreadPool pool(2);
  const auto thunk = program.Make(MakeDotThunk);
  REQUIRE(thunk.ok());
  const Shape lhs = program.instruction().operand(0)->shape();
  const Shape rhs = program.instruction().operand(1)->shape();
  const std::vector<Literal> before = {Numbers(lhs, 0), Numbers(rhs, 1)};
  const std::vector<Literal> after = {before[0], Numbers(rhs, 4)};
  const auto memory = program.Load(**thunk, before, pool);
  Evaluator evaluator;
  (*thunk)->ForgetOperands(memory->state);  // nothing is kept yet
  CHECK(Run(**thunk, memory->state).ok());
  CHECK(program.Result(memory->state) ==
        *evaluator.EvaluateInstruction(program.instruction(), before));
  program.Store(after[1], 1, memory->state);
  (*thunk)->ForgetOperands(memory->state);
  CHECK(Run(**thunk, memory->state).ok());
  CHECK(program.Result(memory->state) ==
        *evaluator.EvaluateInstruction(program.instruction(), after));
}

TEST_CASE("threads run one thunk at once, each with a state of its own", "[cpu][thunk]") {
  Program program("a = f32[64,48] parameter(0)\nb = f32[48,80] parameter(1)",
                  "f32[64,80] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  program.buffers().rhs_unchanging = true;
  const auto thunk = program.Make(MakeDotThunk);
  REQUIRE(thunk.ok());
  std::vector<Literal> expected, results(3);
  std::vector<std::vector<Literal>> operands;
  Evaluator evaluator;
  for (int64_t i = 0; i < 3; ++i) {
    operands.push_back({Numbers(program.instruction().operand(0)->shape(), i),
                        Numbers(program.instruction().operand(1)->shape(), 2 * i + 1)});
    expected.push_back(*evaluator.EvaluateInstruction(program.instruction(), operands.back()));
  }
  ThreadPool pool(2);
  std::vector<std::unique_ptr<Program::Memory>> memories;
  for (const auto& own : operands) memories.push_back(program.Load(**thunk, own, pool));
  std::vector<int> failed(3, 0);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 50; ++run) failed[i] += Run(**thunk, memories[i]->state).ok() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 3; ++i) {
    CHECK(failed[i] == 0);
    CHECK(program.Result(memories[i]->state) == expected[i]);
    CHECK(program.RimsAreWhole(*memories[i]));
  }
}

TEST_CASE("what the library has no routine for is declined", "[cpu][thunk]") {
  struct Declined {
    MakeThunk make;
    std::string_view parameters, root, more;
  };
  const Declined rows[] = {
      // A comparator of sums, and one of floats that leaves the place of NaN open.
      {MakeSortThunk, "a = f32[9] parameter(0)", "f32[9] sort(a), dimensions={0}, to_apply=f",
       "f {\na = f32[] parameter(0)\nb = f32[] parameter(1)\ns = f32[] add(a, b)\n"
       "ROOT c = pred[] compare(s, b), direction=LT, type=TOTALORDER\n}"},
      {MakeSortThunk, "a = f32[9] parameter(0)", "f32[9] sort(a), dimensions={0}, to_apply=f",
       "f {\na = f32[] parameter(0)\nb = f32[] parameter(1)\n"
       "ROOT c = pred[] compare(a, b), direction=LT\n}"},
      // Arrays of two types.
      {MakeCollectiveThunk, "a = f32[4] parameter(0)\nb = s32[4] parameter(1)",
       "(f32[4], s32[4]) all-to-all(a, b), replica_groups={{0,1}}", ""},
  };
  for (const Declined& row : rows) {
    INFO(row.root);
    const auto thunk = Program(row.parameters, row.root, row.more).Make(row.make);
    CHECK((thunk.ok() ? *thunk == nullptr : absl::IsUnimplemented(thunk.status())));
  }
  const Program elsewhere("a = f32[4] parameter(0)", "f32[4] negate(a)");
  CHECK_FALSE(elsewhere.Make(MakeCollectiveThunk).ok());
}

TEST_CASE("an error of the evaluator is the thunk's", "[cpu][thunk]") {
  const Program program("a = f32[4] parameter(0)",
                        "f32[4] custom-call(a), custom_call_target=\"nobody_has_it\"");
  ThreadPool pool(1);
  const auto thunk = program.Make(MakeEval);
  REQUIRE(thunk.ok());
  const auto memory =
      program.Load(**thunk, {Numbers(program.instruction().operand(0)->shape(), 0)}, pool);
  const absl::Status status = Run(**thunk, memory->state);
  CHECK(std::string(ToStd(status.message())).find("nobody_has_it") != std::string::npos);
  CHECK(program.RimsAreWhole(*memory));
}

TEST_CASE("a loop ends when its run is cancelled, here or where it was started", "[cpu][thunk]") {
  // The body is a thunk of the library: the predicate, a byte of its operand, stays true.
  const Program program("a = f32[4] parameter(0)", "f32[4] negate(a)");
  ThreadPool pool(1);
  auto thunk = program.Make(MakeEval);
  REQUIRE(thunk.ok());
  const auto memory = program.Load(**thunk, {Literal::Filled(F32Shape({4}), 1.5)}, pool);
  ThunkList body;
  body.push_back(*std::move(thunk));
  const WhileThunk loop("loop", {}, {0, 3, 1}, std::move(body));
  memory->state.max_loop_iterations = 3;
  CHECK(absl::IsDeadlineExceeded(Run(loop, memory->state)));
  memory->state.max_loop_iterations = 0;
  CpuState starter;
  memory->state.starter = &starter;
  starter.is_cancelled = true;
  CHECK(absl::IsCancelled(Run(loop, memory->state)));
  starter.is_cancelled = false;
  memory->state.is_cancelled = true;
  CHECK(absl::IsCancelled(Run(loop, memory->state)));
}

TEST_CASE("devices meet in each other's memory", "[cpu][thunk]") {
  const Program program(
      "a = f32[700] parameter(0)", "f32[700] all-reduce(a), replica_groups={{0,1}}, to_apply=sum",
      "sum {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT s = f32[] add(a, b)\n}");
  const auto thunk = program.Make(MakeCollectiveThunk);
  REQUIRE(thunk.ok());
  ThreadPool pool(1);
  InProcessCommunicator communicator({2, 1});
  const Shape shape = program.instruction().shape();
  std::vector<std::unique_ptr<Program::Memory>> memories;
  for (int64_t device = 0; device < 2; ++device) {
    memories.push_back(program.Load(**thunk, {Numbers(shape, device)}, pool));
    memories.back()->state.replica_id = device;
    memories.back()->state.communicator = &communicator;
  }
  absl::Status other;
  std::thread device([&] { other = Run(**thunk, memories[1]->state); });
  CHECK(Run(**thunk, memories[0]->state).ok());
  device.join();
  CHECK(other.ok());
  Literal sums(shape);
  const Literal first = Numbers(shape, 0), second = Numbers(shape, 1);
  for (int64_t i = 0; i < shape.element_count(); ++i)
    sums.SetDouble(i, first.GetDouble(i) + second.GetDouble(i));
  for (const auto& memory : memories) {
    CHECK(program.Result(memory->state) == sums);
    CHECK(program.RimsAreWhole(*memory));
  }
  // Who comes alone, because the other one has failed, ends with that error.
  communicator.Leave(1, absl::AbortedError("device 1 has failed"));
  CHECK_FALSE(Run(**thunk, memories[0]->state).ok());
}

}  // namespace
}  // namespace hlo::cpu
