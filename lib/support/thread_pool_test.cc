#include "lib/support/thread_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "lib/support/denormals.h"

namespace hlo {
namespace {

TEST_CASE("every task runs exactly once, whatever the number of workers",
          "[support][thread-pool]") {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    CHECK(pool.size() == threads);
    for (const int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(tasks));
      pool.ParallelFor(tasks, [&](int64_t task, int worker) {
        hits[static_cast<size_t>(task)].fetch_add(worker >= 0 && worker < threads ? 1 : 100);
      });
      pool.ParallelForDynamic(
          tasks, [&](int64_t task, int) { hits[static_cast<size_t>(task)].fetch_add(10); });
      int wrong = 0;
      for (const auto& hit : hits) wrong += hit.load() != 11;
      CAPTURE(threads, tasks);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("many short regions lose nothing", "[support][thread-pool]") {
  ThreadPool pool(4);
  int64_t total = 0;
  std::vector<int64_t> cells(4 * 8);
  for (int round = 0; round < 20000; ++round) {
    pool.ParallelFor(4, [&](int64_t task, int) { cells[static_cast<size_t>(task) * 8] += round; });
    total += round;
  }
  for (int task = 0; task < 4; ++task) CHECK(cells[static_cast<size_t>(task) * 8] == total);
}

TEST_CASE("workers that went to sleep are woken up", "[support][thread-pool]") {
  ThreadPool pool(ThreadPool::Options{3, 0});
  std::atomic<int> sum{0};
  for (int round = 0; round < 50; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    pool.ParallelFor(3, [&](int64_t, int) { sum.fetch_add(1); });
  }
  CHECK(sum.load() == 150);
}

TEST_CASE("a region inside a region runs serially in its worker", "[support][thread-pool]") {
  ThreadPool pool(3);
  std::atomic<int> inner_tasks{0};
  std::atomic<int> strays{0};
  CHECK_FALSE(ThreadPool::InRegion());
  pool.ParallelFor(6, [&](int64_t, int worker) {
    const auto thread = std::this_thread::get_id();
    pool.ParallelFor(5, [&](int64_t, int inner_worker) {
      inner_tasks.fetch_add(1);
      if (inner_worker != worker || std::this_thread::get_id() != thread) strays.fetch_add(1);
    });
    if (!ThreadPool::InRegion() || ThreadPool::CurrentWorker() != worker) strays.fetch_add(1);
  });
  CHECK(inner_tasks.load() == 30);
  CHECK(strays.load() == 0);
  CHECK_FALSE(ThreadPool::InRegion());
}

TEST_CASE("workers that run together can wait for each other", "[support][thread-pool]") {
  ThreadPool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> arrived{0};
    auto meet = [](void* context, int64_t, int) {
      auto& count = *static_cast<std::atomic<int>*>(context);
      count.fetch_add(1);
      while (count.load() < 3) std::this_thread::yield();
    };
    pool.RunTogether(3, meet, &arrived);
    REQUIRE(arrived.load() == 3);
  }
}

TEST_CASE("several threads may share a pool", "[support][thread-pool]") {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 3; ++user) {
    users.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        pool.ParallelFor(4, [&](int64_t task, int) { sum.fetch_add(task); });
      }
    });
  }
  for (std::thread& user : users) user.join();
  CHECK(sum.load() == 3 * 500 * 6);
}

TEST_CASE("ranges cover everything and respect the grain", "[support][thread-pool]") {
  ThreadPool pool(3);
  for (const int64_t count : {1, 7, 64, 100, 1000}) {
    for (const int64_t grain : {1, 16, 64, 5000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      std::atomic<int> bad{0};
      pool.ParallelRanges(count, grain, [&](int64_t begin, int64_t end, int) {
        if (begin % grain != 0) bad.fetch_add(1);
        if (end - begin < grain && !(begin == 0 && end == count)) bad.fetch_add(1);
        for (int64_t i = begin; i < end; ++i) hits[static_cast<size_t>(i)].fetch_add(1);
      });
      for (const auto& hit : hits) bad += hit.load() != 1;
      CAPTURE(count, grain);
      CHECK(bad.load() == 0);
    }
  }
}

// Halves the smallest normal float; volatile keeps the compiler from doing it.
float HalfOfSmallestNormal() {
  volatile float x = std::numeric_limits<float>::min();
  volatile float half = 0.5f;
  return x * half;
}

TEST_CASE("workers take over the caller's treatment of denormals", "[support][thread-pool]") {
  ThreadPool pool(3);
  for (const Denormals mode : {Denormals::kFlush, Denormals::kKeep, Denormals::kFlush}) {
    ScopedDenormals scope(mode);
    std::atomic<int> zeros{0};
    auto count = [](void* context, int64_t, int) {
      if (HalfOfSmallestNormal() == 0) static_cast<std::atomic<int>*>(context)->fetch_add(1);
    };
    pool.RunTogether(3, count, &zeros);
    CHECK(zeros.load() == (mode == Denormals::kFlush ? 3 : 0));
  }
  CHECK(HalfOfSmallestNormal() > 0);
}

}  // namespace
}  // namespace hlo
