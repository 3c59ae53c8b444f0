// Several "processes" are threads here, whose messages go through queues.
#include "lib/eval/distributed_communicator.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "lib/eval/device_group.h"
#include "lib/support/diagnostic.h"
#include "parser/parser.h"

namespace hlo {
namespace {

// The queues of all ranks.
struct FakeNetwork {
  explicit FakeNetwork(int size) : inbox(static_cast<size_t>(size)) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<WireBytes>> inbox;
  int64_t messages = 0;
};

class FakeTransport final : public Transport {
 public:
  FakeTransport(FakeNetwork& network, int rank) : network_(network), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(network_.inbox.size()); }
  void Send(int rank, WireBytes message) override {
    const std::lock_guard lock(network_.mutex);
    network_.inbox[static_cast<size_t>(rank)].push_back(std::move(message));
    ++network_.messages;
    network_.changed.notify_all();
  }
  absl::StatusOr<std::optional<WireBytes>> Receive(std::chrono::milliseconds patience) override {
    std::unique_lock lock(network_.mutex);
    std::deque<WireBytes>& inbox = network_.inbox[static_cast<size_t>(rank_)];
    if (!network_.changed.wait_for(lock, patience, [&] { return !inbox.empty(); }))
      return std::nullopt;
    std::optional<WireBytes> message = std::move(inbox.front());
    inbox.pop_front();
    return message;
  }
  [[noreturn]] void Abort(int) override { std::abort(); }

 private:
  FakeNetwork& network_;
  const int rank_;
};

using ByDevice = std::vector<std::vector<Literal>>;
using Outcome = absl::StatusOr<std::vector<Literal>>;

// What every rank gets: the results of all devices, or its error.
std::vector<Outcome> RunOnRanks(const Module& module, const ByDevice& arguments, int ranks,
                                double longest_wait = 60, int runs = 1) {
  FakeNetwork network(ranks);
  const DeviceMesh mesh{module.config().replica_count, module.config().num_partitions};
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      FakeTransport transport(network, rank);
      DistributedCommunicator communicator(mesh, transport,
                                           std::chrono::duration<double>(longest_wait));
      Outcome& outcome = outcomes[static_cast<size_t>(rank)];
      for (int run = 0; run < runs; ++run) {
        communicator.Restart();
        outcome = RunOnDevices(
            communicator,
            [&](int64_t replica, int64_t partition, Communicator& own) -> absl::StatusOr<Literal> {
              EvalOptions options;
              options.replica_id = replica;
              options.partition_id = partition;
              options.communicator = &own;
              const int64_t device = replica * mesh.partitions + partition;
              return Evaluator(options).Run(module, arguments[static_cast<size_t>(device)]);
            });
        if (!outcome.ok()) return;
        outcome = communicator.Gather(*outcome);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::unique_ptr<Module> Parsed(std::string_view text) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(std::string(text));
  REQUIRE(module.ok());
  return *std::move(module);
}

Literal Pair(float a, float b) {
  return Literal::Array<float>(Shape::Array(ElementType::kF32, {2}), {a, b});
}

constexpr std::string_view kAdd =
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n";

TEST_CASE("any number of processes gives the values of one", "[devices][distributed]") {
  const std::unique_ptr<Module> module = Parsed("HloModule m, replica_count=2, num_partitions=3\n" +
                                                std::string(kAdd) + R"(ENTRY main {
  x = f32[2] parameter(0)
  a = f32[2] all-reduce(x), replica_groups={{0,1}}, to_apply=add
  g = f32[12] all-gather(a), replica_groups={{5,3,1,0,2,4}}, dimensions={0}, channel_id=1, use_global_device_ids=true
  p = f32[2] collective-permute(a), source_target_pairs={{0,1},{1,2}}, channel_id=2
  t = token[] after-all()
  s = (f32[2], u32[], token[]) send(p, t), channel_id=3, frontend_attributes={_xla_send_recv_source_target_pairs="{{2,0}}"}
  r = (f32[2], u32[], token[]) recv(t), channel_id=3, frontend_attributes={_xla_send_recv_source_target_pairs="{{2,0}}"}
  rd = (f32[2], token[]) recv-done(r), channel_id=3
  got = f32[2] get-tuple-element(rd), index=0
  ROOT c = f32[16] concatenate(g, p, got), dimensions={0}
})");
  ByDevice arguments;
  for (int device = 0; device < 6; ++device)
    arguments.push_back({Pair(static_cast<float>(device), static_cast<float>(10 * device))});
  const Outcome expected = EvaluateOnDevices(*module, arguments, {});
  REQUIRE(expected.ok());
  for (const int ranks : {1, 2, 4, 6, 8}) {
    INFO(ranks << " processes");
    for (const Outcome& outcome : RunOnRanks(*module, arguments, ranks, 60, 3)) {
      REQUIRE(outcome.ok());
      REQUIRE(outcome->size() == 6);
      for (size_t device = 0; device < 6; ++device) {
        for (int64_t i = 0; i < 16; ++i)
          CHECK((*outcome)[device].GetDouble(i) == (*expected)[device].GetDouble(i));
      }
    }
  }
}

constexpr std::string_view kApart = R"(ENTRY main {
  v = f32[2] parameter(0)
  r = u32[] replica-id()
  i = s32[] convert(r)
  ROOT c = f32[2] conditional(i, v, v), branch_computations={meets, apart}
})";

TEST_CASE("a device that has finished in another process is not waited for",
          "[devices][distributed]") {
  const std::unique_ptr<Module> module = Parsed(
      "HloModule m, replica_count=2\n" + std::string(kAdd) +
      "apart { y = f32[2] parameter(0)\n ROOT z = f32[2] copy(y) }\n"
      "meets { x = f32[2] parameter(0)\n ROOT sum = f32[2] all-reduce(x), replica_groups={{0,1}}, "
      "to_apply=add }\n" +
      std::string(kApart));
  for (const Outcome& outcome : RunOnRanks(*module, {{Pair(1, 2)}, {Pair(3, 4)}}, /*ranks=*/2)) {
    REQUIRE_FALSE(outcome.ok());
    const std::string text = Render(outcome.status(), nullptr);
    CHECK(text.find("device 0 of rank 0 waits at `sum` (all-reduce) for device 1 of rank 1") !=
          std::string::npos);
    CHECK(text.find("device 1 of rank 1 has finished") != std::string::npos);
  }
}

constexpr std::string_view kTwoSums = R"(
apart { y = f32[2] parameter(0)
 ROOT other = f32[2] all-reduce(y), replica_groups={{0,1,2}}, channel_id=7, to_apply=add }
meets { x = f32[2] parameter(0)
 ROOT sum = f32[2] all-reduce(x), replica_groups={{0,1,2}}, to_apply=add }
)";

TEST_CASE("devices of several processes that wait for each other are told at once",
          "[devices][distributed]") {
  const std::unique_ptr<Module> module =
      Parsed("HloModule m, replica_count=3\n" + std::string(kAdd) + std::string(kTwoSums) +
             std::string(kApart));
  const ByDevice arguments(3, {Pair(1, 2)});
  const auto begin = std::chrono::steady_clock::now();
  for (const int ranks : {2, 3}) {
    for (const Outcome& outcome : RunOnRanks(*module, arguments, ranks, /*longest_wait=*/600)) {
      REQUIRE_FALSE(outcome.ok());
      const std::string text = Render(outcome.status(), nullptr);
      INFO(text);
      CHECK(text.find("the devices cannot go on: device 0 of rank 0 waits at `sum` (all-reduce) "
                      "for devices 1 and 2 of rank") != std::string::npos);
      CHECK(text.find(ranks == 2 ? "devices 1 and 2 of rank 1 wait at `other` (all-reduce, channel "
                                   "7) for device 0 of rank 0"
                                 : "devices 1 and 2 of ranks 1 and 2 wait at `other` (all-reduce, "
                                   "channel 7) for device 0 of rank 0") != std::string::npos);
    }
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

// Two ranks, one device each: `sum` is where device 0 or 1 waits, while the other does something.
struct TwoRanks {
  explicit TwoRanks(double longest_wait)
      : communicators{{{2, 1}, transports[0], std::chrono::duration<double>(longest_wait)},
                      {{2, 1}, transports[1], std::chrono::duration<double>(longest_wait)}} {
    for (DistributedCommunicator& communicator : communicators) communicator.Restart();
  }
  absl::Status Come(int64_t device) { return ComeTo(*module->entry()->root(), device); }
  absl::Status ComeToOther(int64_t device) {
    return ComeTo(*module->entry()->root()->operand(0), device);
  }
  absl::Status ComeTo(const Instruction& instruction, int64_t device) {
    return communicators[device]
        .Meet(device, instruction, {0, 1}, {Literal::Zero(ElementType::kF32)},
              [](const auto& operands, size_t self) -> absl::StatusOr<Literal> {
                return operands[self][0];
              })
        .status();
  }

  std::unique_ptr<Module> module =
      Parsed("HloModule m, replica_count=2\n" + std::string(kAdd) +
             "ENTRY main { x = f32[] parameter(0)\n"
             " other = f32[] all-reduce(x), replica_groups={{0,1}}, to_apply=add\n"
             " ROOT sum = f32[] all-reduce(other), "
             "replica_groups={{0,1}}, to_apply=add }\n");
  FakeNetwork network{2};
  FakeTransport transports[2] = {{network, 0}, {network, 1}};
  DistributedCommunicator communicators[2];
};

TEST_CASE("a device that waits for a busy one says so in the end", "[devices][distributed]") {
  for (const int64_t device : {0, 1}) {
    TwoRanks ranks(/*longest_wait=*/0.2);
    const std::string text = Render(ranks.Come(device), nullptr);
    CHECK(text.find(fmt::format("after 0.2 seconds device {0} of rank {0} waits at `sum` "
                                "(all-reduce) for device {1} of rank {1}",
                                device, 1 - device)) != std::string::npos);
    // Both say it, and rank 0 has seen that the other device is no place where it waits.
    CHECK(text.find(fmt::format("device {0} of rank {0} is still busy", 1 - device)) !=
          std::string::npos);
    while (ranks.communicators[1 - device].Failure().ok()) std::this_thread::yield();
  }
}

TEST_CASE("a device that is late is waited for", "[devices][distributed]") {
  TwoRanks ranks(/*longest_wait=*/60);
  absl::Status early;
  std::thread waits([&] { early = ranks.Come(1); });
  // Longer than several looks of rank 0.
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  CHECK(ranks.Come(0).ok());
  waits.join();
  CHECK(early.ok());
}

TEST_CASE("a device of which one thread still computes is not stuck", "[devices][distributed]") {
  TwoRanks ranks(/*longest_wait=*/60);
  ranks.communicators[0].AddThreads(0, 1);
  absl::Status first, second;
  std::thread waits([&] { first = ranks.Come(0); });
  std::thread other([&] { second = ranks.ComeToOther(1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  CHECK(ranks.communicators[0].Failure().ok());
  ranks.communicators[0].AddThreads(0, -1);
  waits.join();
  other.join();
  CHECK(Render(first, nullptr).find("cannot go on: device 0 of rank 0 waits at `sum`") !=
        std::string::npos);
  CHECK_FALSE(second.ok());
}

RankState Blocked(std::vector<int64_t> sent, std::vector<int64_t> received) {
  RankState state;
  state.run = 3;
  state.is_blocked = true;
  state.sent = std::move(sent);
  state.received = std::move(received);
  state.waiting = {{0, SourceLoc(), "`x` (recv)", {1}}};
  return state;
}

TEST_CASE("nobody goes on when all are blocked and no message is on its way",
          "[devices][distributed]") {
  std::vector<RankState> ranks = {Blocked({0, 2}, {0, 5}), Blocked({5, 0}, {2, 0})};
  CHECK(NobodyGoesOn(ranks, 3));
  CHECK_FALSE(NobodyGoesOn(ranks, 4));
  ranks[1].received[0] = 1;
  CHECK_FALSE(NobodyGoesOn(ranks, 3));
  ranks[1].has_ended = true;
  CHECK(NobodyGoesOn(ranks, 3));
  ranks[0].is_blocked = false;
  CHECK_FALSE(NobodyGoesOn(ranks, 3));
  ranks[0].is_blocked = true;
  ranks[0].waiting.clear();  // all have finished
  CHECK_FALSE(NobodyGoesOn(ranks, 3));
}

TEST_CASE("an error of one process ends the others and says where", "[devices][distributed]") {
  const std::unique_ptr<Module> module =
      Parsed("HloModule m, replica_count=2\n" + std::string(kAdd) + R"(
apart {
  y = f32[2] parameter(0)
  k = s32[1] constant({5})
  ROOT b = f32[2] collective-broadcast(y, k), replica_groups={{1}}, has_dynamic_root=true
}
meets { x = f32[2] parameter(0)
 ROOT sum = f32[2] all-reduce(x), replica_groups={{0,1}}, to_apply=add }
)" + std::string(kApart));
  for (const Outcome& outcome : RunOnRanks(*module, {{Pair(1, 2)}, {Pair(3, 4)}}, /*ranks=*/2)) {
    REQUIRE_FALSE(outcome.ok());
    CHECK(Render(outcome.status(), nullptr).find("root 5 of `collective-broadcast`") !=
          std::string::npos);
  }
}

TEST_CASE("values and errors survive the way, broken messages do not", "[devices][distributed]") {
  WireWriter writer;
  writer.Number(-7);
  writer.Text("a text");
  writer.Value(Literal::Tuple({Pair(1, 2), Literal::Token(), Literal::Tuple({})}));
  writer.Error(AddNote(Error(SourceLoc{3, 4}, "an error"), SourceLoc(), "a note"));
  const WireBytes bytes = std::move(writer).Finish();
  WireReader reader(bytes);
  CHECK(reader.Number() == -7);
  CHECK(reader.Text() == "a text");
  const Literal value = reader.Value();
  REQUIRE(value.elements().size() == 3);
  CHECK(value.element(0).GetDouble(1) == 2);
  CHECK(value.element(2).elements().empty());
  const std::vector<Diagnostic> diagnostics = DiagnosticsOf(reader.Error());
  REQUIRE(diagnostics.size() == 2);
  CHECK(diagnostics[0].loc == SourceLoc{3, 4});
  CHECK(diagnostics[1].message == "a note");
  CHECK(reader.Finish().ok());
  for (size_t size = 0; size < bytes.size(); size += 5) {
    const WireBytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    WireReader broken(part);
    static_cast<void>(broken.Number());
    static_cast<void>(broken.Text());
    static_cast<void>(broken.Value());
    CHECK_FALSE(broken.Error().ok());
    CHECK_FALSE(broken.Finish().ok());
  }
}

}  // namespace
}  // namespace hlo
