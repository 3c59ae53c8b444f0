// Copies, loops and branches: what they run how often, and what ends them.
#include "backends/common/thunk.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "lib/eval/in_process_communicator.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

struct NoStream final : Stream {
  absl::Status Synchronize() override { return absl::OkStatus(); }
};

// A device of a few bytes in each of four allocations.
struct TestState final : DeviceState {
  std::array<std::array<uint8_t, 64>, 4> memory{};
  int forgotten = 0;      // times that operands were forgotten
  absl::Status readable;  // what reading gives

  int32_t& Number(const BufferSlice& slice) { return *reinterpret_cast<int32_t*>(At(slice)); }
  uint8_t* At(const BufferSlice& slice) {
    return memory[static_cast<size_t>(slice.allocation)].data() + slice.offset;
  }
  absl::Status Copy(Stream&, const BufferSlice& to, const BufferSlice& from,
                    int64_t bytes) override {
    std::memcpy(At(to), At(from), static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status Read(Stream&, const BufferSlice& from, void* to, int64_t bytes) override {
    std::memcpy(to, At(from), static_cast<size_t>(bytes));
    return readable;
  }
};

constexpr BufferSlice kCount{0, 0, 4}, kOther{0, 4, 4}, kPredicate{1, 0, 1}, kIndex{1, 4, 4};

// Does something with the state.
class Step final : public Thunk {
 public:
  using Function = std::function<absl::Status(TestState&)>;
  explicit Step(Function function, int64_t scratch = 0)
      : Thunk("step"), function_(std::move(function)), scratch_(scratch) {}
  std::string_view kind() const override { return "step"; }
  BufferUses uses() const override { return {{kCount}, {kOther}}; }
  int64_t scratch_bytes() const override { return scratch_; }
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream&) const override {
    RETURN_IF_ERROR(function_(static_cast<TestState&>(state)));
    return ExecuteEvent();
  }
  void ForgetOperands(DeviceState& state) const override {
    ++static_cast<TestState&>(state).forgotten;
  }

 private:
  Function function_;
  int64_t scratch_;
};

ThunkList List(std::unique_ptr<Thunk> thunk) {
  ThunkList list;
  list.push_back(std::move(thunk));
  return list;
}

ThunkList Does(Step::Function function) {
  return List(std::make_unique<Step>(std::move(function)));
}

// Adds to the number of a slice.
ThunkList Adds(int32_t number, const BufferSlice& slice = kCount) {
  return Does([=](TestState& state) {
    state.Number(slice) += number;
    return absl::OkStatus();
  });
}

// predicate = count < limit
ThunkList CountIsBelow(int32_t limit, const BufferSlice& count = kCount) {
  return Does([=](TestState& state) {
    *state.At(kPredicate) = state.Number(count) < limit ? 1 : 0;
    return absl::OkStatus();
  });
}

ThunkList Fails() {
  return Does([](TestState&) { return absl::InternalError("the step fails"); });
}

absl::Status Run(const Thunk& thunk, TestState& state) {
  NoStream stream;
  return ExecuteThunk(thunk, state, stream).status();
}

std::string Message(const absl::Status& status) { return std::string(ToStd(status.message())); }

TEST_CASE("a copy moves the bytes of its slices and no others", "[common][thunk]") {
  TestState state;
  for (size_t i = 0; i < 64; ++i) state.memory[2][i] = static_cast<uint8_t>(i + 1);
  const CopyThunk copy("copy.1", {2, 8, 4}, {3, 16, 4});
  CHECK(Run(copy, state).ok());
  std::array<uint8_t, 64> expected{};
  for (size_t i = 0; i < 4; ++i) expected[16 + i] = static_cast<uint8_t>(8 + i + 1);
  CHECK(state.memory[3] == expected);
  CHECK(copy.OnlyEnqueues());
  CHECK(copy.uses().reads == std::vector<BufferSlice>{{2, 8, 4}});
  CHECK(copy.uses().writes == std::vector<BufferSlice>{{3, 16, 4}});
  std::string line;
  copy.AppendTo(line, 1);
  CHECK(line == "  copy copy.1 r:a2[8:12] w:a3[16:20]\n");
}

TEST_CASE("a while runs its body until the condition is false", "[common][thunk]") {
  TestState state;
  const WhileThunk loop("loop", CountIsBelow(5), kPredicate, Adds(1));
  CHECK(Run(loop, state).ok());
  CHECK(state.Number(kCount) == 5);
  // The condition is asked first: now there is nothing to do.
  CHECK(Run(loop, state).ok());
  CHECK(state.Number(kCount) == 5);
  CHECK(state.forgotten == 4);  // by two thunks, when each of two runs began
  CHECK(loop.uses().reads == std::vector<BufferSlice>{kCount, kCount, kPredicate});
}

TEST_CASE("a counted loop runs its body as often as it says", "[common][thunk]") {
  for (const int64_t trips : {0, 1, 7}) {
    TestState state;
    CHECK(Run(CountedLoopThunk("loop", trips, Adds(2)), state).ok());
    CHECK(state.Number(kCount) == 2 * trips);
  }
}

TEST_CASE("loops in loops begin anew each time", "[common][thunk]") {
  // other counts the outer iterations, count the inner ones: 1 + 2 + 3 + 4.
  ThunkList body = Adds(1, kOther);
  body.push_back(std::move(Does([](TestState& state) {
    state.Number(kIndex) = 0;
    return absl::OkStatus();
  })[0]));
  ThunkList inner_condition = Does([](TestState& state) {
    *state.At(kPredicate) = state.Number(kIndex) < state.Number(kOther) ? 1 : 0;
    return absl::OkStatus();
  });
  ThunkList inner_body = Adds(1);
  inner_body.push_back(std::move(Adds(1, kIndex)[0]));
  body.push_back(std::make_unique<WhileThunk>("inner", std::move(inner_condition), kPredicate,
                                              std::move(inner_body)));
  const WhileThunk outer("outer", CountIsBelow(4, kOther), kPredicate, std::move(body));
  TestState state;
  CHECK(Run(outer, state).ok());
  CHECK(state.Number(kOther) == 4);
  CHECK(state.Number(kCount) == 10);

  TestState counted;
  const CountedLoopThunk nest("outer", 3,
                              List(std::make_unique<CountedLoopThunk>("inner", 5, Adds(1))));
  CHECK(Run(nest, counted).ok());
  CHECK(counted.Number(kCount) == 15);
}

TEST_CASE("an error of what a loop runs ends it", "[common][thunk]") {
  const auto fails_at = [](int32_t last) {
    return Does([last](TestState& state) {
      if (++state.Number(kCount) < last) return absl::OkStatus();
      return absl::InternalError("the body fails");
    });
  };
  TestState state;
  CHECK(Message(Run(WhileThunk("loop", CountIsBelow(9), kPredicate, fails_at(3)), state)) ==
        "the body fails");
  CHECK(state.Number(kCount) == 3);
  CHECK(Message(Run(CountedLoopThunk("loop", 9, fails_at(7)), state)) == "the body fails");
  CHECK(state.Number(kCount) == 7);
  // What comes after a thunk that fails is not run, and neither is the body when a condition fails.
  ThunkList two = Fails();
  two.push_back(std::move(Adds(100)[0]));
  CHECK(Message(Run(CountedLoopThunk("loop", 9, std::move(two)), state)) == "the step fails");
  CHECK(Message(Run(WhileThunk("loop", Fails(), kPredicate, Adds(100)), state)) ==
        "the step fails");
  CHECK(state.Number(kCount) == 7);
}

TEST_CASE("a run may limit the iterations of its loops", "[common][thunk]") {
  TestState state;
  state.max_loop_iterations = 4;
  const WhileThunk endless("endless", CountIsBelow(1000), kPredicate, Adds(1));
  const absl::Status status = Run(endless, state);
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK(Message(status) == "`endless` did not end within 4 iterations");
  CHECK(state.Number(kCount) == 4);
  CHECK(Run(WhileThunk("enough", CountIsBelow(8), kPredicate, Adds(1)), state).ok());
  CHECK(state.Number(kCount) == 8);
  // A count that is known is refused before it begins.
  CHECK(absl::IsDeadlineExceeded(Run(CountedLoopThunk("loop", 5, Adds(1)), state)));
  CHECK(state.Number(kCount) == 8);
  CHECK(Run(CountedLoopThunk("loop", 4, Adds(1)), state).ok());
  CHECK(state.Number(kCount) == 12);
}

TEST_CASE("loops end when another device has failed, or nothing can be read", "[common][thunk]") {
  InProcessCommunicator communicator({2, 1});
  TestState state;
  state.communicator = &communicator;
  const auto leaves_at_three = [&communicator] {
    return Does([&communicator](TestState& own) {
      if (++own.Number(kCount) % 3 == 0) communicator.Leave(1, absl::AbortedError("device 1"));
      return absl::OkStatus();
    });
  };
  CHECK_FALSE(
      Run(WhileThunk("loop", CountIsBelow(1000), kPredicate, leaves_at_three()), state).ok());
  CHECK(state.Number(kCount) == 3);
  communicator.Restart();
  CHECK_FALSE(Run(CountedLoopThunk("loop", 1000, leaves_at_three()), state).ok());
  CHECK(state.Number(kCount) == 6);

  TestState cancelled;
  cancelled.readable = absl::CancelledError("");
  CHECK(absl::IsCancelled(
      Run(WhileThunk("loop", CountIsBelow(1000), kPredicate, Adds(1)), cancelled)));
  CHECK(cancelled.Number(kCount) == 0);
}

std::vector<ThunkList> ThreeBranches() {
  std::vector<ThunkList> branches;
  for (const int32_t number : {1, 10, 100}) branches.push_back(Adds(number));
  return branches;
}

TEST_CASE("an index chooses its branch, and out of range the last one", "[common][thunk]") {
  const ConditionalThunk choice("choice", kIndex, /*selector_is_pred=*/false, ThreeBranches());
  constexpr std::pair<int32_t, int32_t> kChosen[] = {
      {0, 1}, {1, 10}, {2, 100}, {3, 100}, {-1, 100}, {INT32_MAX, 100}, {INT32_MIN, 100}};
  for (const auto& [index, added] : kChosen) {
    TestState state;
    state.Number(kIndex) = index;
    CHECK(Run(choice, state).ok());
    CHECK(state.Number(kCount) == added);
  }
  const BufferUses uses = choice.uses();
  CHECK(uses.reads == std::vector<BufferSlice>{kCount, kCount, kCount, kIndex});
}

TEST_CASE("a pred chooses the first branch where it is true", "[common][thunk]") {
  std::vector<ThunkList> branches = ThreeBranches();
  branches.pop_back();
  const ConditionalThunk choice("choice", kPredicate, /*selector_is_pred=*/true,
                                std::move(branches));
  for (const uint8_t pred : {0, 1, 255}) {
    TestState state;
    *state.At(kPredicate) = pred;
    CHECK(Run(choice, state).ok());
    CHECK(state.Number(kCount) == (pred != 0 ? 1 : 10));
  }
}

TEST_CASE("only the branch that is chosen can fail", "[common][thunk]") {
  std::vector<ThunkList> branches;
  branches.push_back(Fails());
  branches.emplace_back();
  const ConditionalThunk choice("choice", kIndex, /*selector_is_pred=*/false, std::move(branches));
  TestState state;
  CHECK(Message(Run(choice, state)) == "the step fails");
  state.Number(kIndex) = 1;
  CHECK(Run(choice, state).ok());
  state.readable = absl::DataLossError("no selector");
  CHECK(Message(Run(choice, state)) == "no selector");
}

TEST_CASE("control flow needs the scratch of its largest thunk", "[common][thunk]") {
  const auto nothing = [](TestState&) { return absl::OkStatus(); };
  ThunkList body = List(std::make_unique<Step>(nothing, 64));
  body.push_back(
      std::make_unique<CountedLoopThunk>("inner", 2, List(std::make_unique<Step>(nothing, 256))));
  const WhileThunk loop("loop", List(std::make_unique<Step>(nothing, 128)), kPredicate,
                        std::move(body));
  CHECK(loop.scratch_bytes() == 256);
  CHECK(ScratchBytes({}) == 0);
}

TEST_CASE("thunks show what they run", "[common][thunk]") {
  ThunkList program;
  program.push_back(
      std::make_unique<WhileThunk>("loop", CountIsBelow(3), kPredicate,
                                   List(std::make_unique<CountedLoopThunk>("inner", 2, Adds(1)))));
  std::vector<ThunkList> branches;
  branches.push_back(Adds(1));
  branches.emplace_back();
  program.push_back(std::make_unique<ConditionalThunk>("choice", kIndex, /*selector_is_pred=*/false,
                                                       std::move(branches)));
  CHECK(ToString(program) == R"(while loop predicate=a1[0:1]
condition:
  step step r:a0[0:4] w:a0[4:8]
body:
  for inner trips=2
    step step r:a0[0:4] w:a0[4:8]
conditional choice selector=a1[4:8]
branch 0:
  step step r:a0[0:4] w:a0[4:8]
branch 1:
)");
}

TEST_CASE("threads run one program at once, each with a state of its own", "[common][thunk]") {
  ThunkList body = Adds(1);
  body.push_back(std::make_unique<CountedLoopThunk>("inner", 2, Adds(1, kOther)));
  const WhileThunk program("loop", CountIsBelow(20'000), kPredicate, std::move(body));
  std::array<TestState, 4> states;
  std::array<absl::Status, 4> ends;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < states.size(); ++i) {
    states[i].Number(kCount) = static_cast<int32_t>(1000 * i);
    if (i == 3) states[i].max_loop_iterations = 100;  // one that fails disturbs no other
    threads.emplace_back([&, i] { ends[i] = Run(program, states[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < states.size(); ++i) {
    const bool fails = i == 3;
    CHECK(ends[i].ok() != fails);
    const int32_t iterations = fails ? 100 : 20'000 - static_cast<int32_t>(1000 * i);
    CHECK(states[i].Number(kOther) == 2 * iterations);
  }
}

}  // namespace
}  // namespace hlo
