#include "lib/eval/in_process_communicator.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "lib/support/diagnostic.h"
#include "parser/parser.h"

namespace hlo {
namespace {

// Two collectives, of which each device is at one in its main sequence, and at one beside it.
struct TwoPlaces {
  std::unique_ptr<Module> module = *ParseModule(R"(HloModule m, replica_count=2
ENTRY main {
  x = f32[2] parameter(0)
  a = f32[2] collective-permute(x), source_target_pairs={{0,1},{1,0}}
  b = f32[2] collective-permute(a), source_target_pairs={{0,1},{1,0}}
  ROOT t = (f32[2], f32[2]) tuple(a, b)
})");
  const Instruction& a = *module->entry()->root()->operand(0);
  const Instruction& b = *module->entry()->root()->operand(1);
};

absl::Status Come(Communicator& communicator, int64_t device, const Instruction& instruction) {
  return communicator
      .Meet(device, instruction, {0, 1}, {Literal::Zero(ElementType::kF32)},
            [](const auto& operands, size_t self) -> absl::StatusOr<Literal> {
              return operands[1 - self][0];
            })
      .status();
}

TEST_CASE("a device that computes beside what waits is not stuck", "[devices]") {
  const TwoPlaces places;
  InProcessCommunicator communicator({2, 1}, std::chrono::seconds(60));
  communicator.AddThreads(0, 1);
  absl::Status beside, other;
  std::thread waits_beside([&] { beside = Come(communicator, 0, places.a); });
  std::thread waits([&] {
    other = Come(communicator, 1, places.b);
    other.Update(Come(communicator, 1, places.a));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(communicator.Failure().ok());
  CHECK(Come(communicator, 0, places.b).ok());
  waits_beside.join();
  waits.join();
  CHECK(beside.ok());
  CHECK(other.ok());
}

TEST_CASE("a device is stuck when all that it does waits", "[devices]") {
  const TwoPlaces places;
  InProcessCommunicator communicator({2, 1}, std::chrono::seconds(60));
  communicator.AddThreads(0, 1);
  absl::Status beside, other;
  std::thread waits_beside([&] { beside = Come(communicator, 0, places.a); });
  std::thread waits([&] { other = Come(communicator, 1, places.b); });
  communicator.AddThreads(0, -1);  // the main sequence waits for what is beside it
  waits_beside.join();
  waits.join();
  for (const absl::Status& status : {beside, other}) {
    REQUIRE_FALSE(status.ok());
    const std::string text = Render(status, nullptr);
    CHECK(text.find("the devices cannot go on: device 0 waits at `a`") != std::string::npos);
    CHECK(text.find("device 1 waits at `b`") != std::string::npos);
  }
}

TEST_CASE("work on the memory of all devices is done by each of them", "[devices]") {
  const TwoPlaces places;
  InProcessCommunicator communicator({2, 1}, std::chrono::seconds(60));
  int32_t in[] = {3, 4}, out[] = {0, 0};
  std::vector<std::thread> threads;
  for (int64_t device = 0; device < 2; ++device) {
    threads.emplace_back([&, device] {
      Communicator::Places own;
      own.operands = {reinterpret_cast<const std::byte*>(&in[device])};
      own.results = {reinterpret_cast<std::byte*>(&out[device])};
      const auto done = communicator.MeetInMemory(
          device, places.a, {0, 1}, std::move(own),
          [](const std::vector<Communicator::Places>& members, size_t self) {
            std::memcpy(members[self].results[0], members[1 - self].operands[0], sizeof(int32_t));
          });
      if (done.ok() && *done) in[device] = -1;  // nobody reads it any more
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(out[0] == 4);
  CHECK(out[1] == 3);
  CHECK(in[0] == -1);
}

}  // namespace
}  // namespace hlo
