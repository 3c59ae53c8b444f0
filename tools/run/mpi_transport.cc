#include "tools/run/mpi_transport.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "lib/support/status.h"

namespace hlo {
namespace {

// Open MPI's: handles are addresses, and its constants addresses of variables of the library.
using MpiHandle = void*;
struct MpiStatus {
  int source = 0, tag = 0, error = 0, cancelled = 0;
  size_t bytes = 0;
};
constexpr int kAnySource = -1, kFunneled = 1;
constexpr char kMpiLibrary[] = "libmpi.so.40";

struct Mpi {
#define HLO_MPI(name, arguments) int(*name) arguments = nullptr;
#include "tools/run/mpi.def"
  MpiHandle world = nullptr, byte = nullptr;
};

absl::StatusOr<Mpi> LoadMpi() {
  // Its plug-ins look for its symbols among those of the program.
  void* const library = dlopen(kMpiLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return MakeError(
        absl::StatusCode::kUnavailable, SourceLoc(),
        fmt::format("--distributed=mpi needs Open MPI (Debian: openmpi-bin): {}", dlerror()));
  }
  Mpi mpi;
  std::string missing;
  const auto find = [&](auto& to, const std::string& name) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, name.c_str()));
    if (to == nullptr) missing = name;
  };
#define HLO_MPI(name, arguments) find(mpi.name, "MPI_" #name);
#include "tools/run/mpi.def"
  find(mpi.world, "ompi_mpi_comm_world");
  find(mpi.byte, "ompi_mpi_byte");
  if (missing.empty()) return mpi;
  return MakeError(absl::StatusCode::kUnavailable, SourceLoc(),
                   fmt::format("`{}` has no `{}`", kMpiLibrary, missing));
}

// A message is its length, then its bytes in pieces that MPI can count.
enum Tag : int { kLengthTag = 1, kPieceTag = 2 };
constexpr size_t kPiece = size_t{1} << 30;
constexpr int64_t kGoodbye = -1;  // instead of a length: the rank sends no more

// All calls of MPI are made by one thread, which is all that every build of it allows.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const Mpi& mpi) : mpi_(mpi) {}
  ~MpiTransport() override {
    {
      const std::lock_guard lock(mutex_);
      is_closing_ = true;
    }
    if (worker_.joinable()) worker_.join();
  }

  absl::Status Start() {
    std::promise<int> started;
    std::future<int> code = started.get_future();
    worker_ = std::thread([this, &started] { Work(started); });
    if (const int error = code.get(); error != 0)
      return Error("MPI does not start: error {}", error);
    return absl::OkStatus();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void Send(int rank, WireBytes message) override {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({.rank = rank, .bytes = std::move(message)});
  }

  absl::StatusOr<std::optional<WireBytes>> Receive(std::chrono::milliseconds patience) override {
    std::unique_lock lock(mutex_);
    if (!has_come_.wait_for(lock, patience, [this] { return !come_.empty(); })) return std::nullopt;
    std::optional<WireBytes> message = std::move(come_.front());
    come_.pop_front();
    return message;
  }

  // The library's own way out is its thread's, which may be busy: the processes started by mpirun
  // end when one of them ends like this.
  [[noreturn]] void Abort(int exit_code) override { _exit(exit_code); }

 private:
  struct Outgoing {
    int rank = 0;
    WireBytes bytes;
    int64_t length = 0;
    std::vector<MpiHandle> requests;  // not done yet
  };

  void Work(std::promise<int>& started) {
    int provided = 0;
    int code = mpi_.Init_thread(nullptr, nullptr, kFunneled, &provided);
    if (code == 0) code = mpi_.Comm_rank(mpi_.world, &rank_);
    if (code == 0) code = mpi_.Comm_size(mpi_.world, &size_);
    started.set_value(code);
    if (code != 0) return;
    constexpr std::chrono::microseconds kShort(20), kLong(500);
    std::chrono::microseconds pause = kShort;
    for (;;) {
      bool is_closing = false;
      const bool was_busy = StartSends(is_closing) | TestSends() | ReceiveOne();
      // What others have sent before their goodbye is taken, so that they can go, too.
      if (has_said_goodbye_ && sending_.empty() && goodbyes_ == size_ - 1) break;
      if (is_closing && !has_said_goodbye_) SayGoodbye();
      pause = was_busy ? kShort : std::min(2 * pause, kLong);
      if (!was_busy) std::this_thread::sleep_for(pause);
    }
    mpi_.Finalize();
  }

  bool StartSends(bool& is_closing) {
    std::deque<Outgoing> outgoing;
    {
      const std::lock_guard lock(mutex_);
      outgoing.swap(waiting_);
      is_closing = is_closing_;
    }
    const bool has_some = !outgoing.empty();
    for (Outgoing& message : outgoing) {
      Outgoing& own = sending_.emplace_back(std::move(message));
      if (own.length != kGoodbye) own.length = std::ssize(own.bytes);
      const auto send = [&](const void* data, size_t bytes, Tag tag) {
        MpiHandle& request = own.requests.emplace_back();
        mpi_.Isend(data, static_cast<int>(bytes), mpi_.byte, own.rank, tag, mpi_.world, &request);
      };
      send(&own.length, sizeof own.length, kLengthTag);
      for (size_t at = 0; at < own.bytes.size(); at += kPiece)
        send(own.bytes.data() + at, std::min(kPiece, own.bytes.size() - at), kPieceTag);
    }
    return has_some;
  }

  void SayGoodbye() {
    has_said_goodbye_ = true;
    const std::lock_guard lock(mutex_);
    for (int rank = 0; rank < size_; ++rank) {
      if (rank != rank_) waiting_.push_back({.rank = rank, .length = kGoodbye});
    }
  }

  bool TestSends() {
    bool is_some_done = false;
    for (Outgoing& message : sending_) {
      std::erase_if(message.requests, [&](MpiHandle& request) {
        int done = 0;
        MpiStatus status;
        mpi_.Test(&request, &done, &status);
        is_some_done = is_some_done || done != 0;
        return done != 0;
      });
    }
    sending_.remove_if([](const Outgoing& message) { return message.requests.empty(); });
    return is_some_done;
  }

  bool ReceiveOne() {
    int is_there = 0;
    MpiStatus status;
    mpi_.Iprobe(kAnySource, kLengthTag, mpi_.world, &is_there, &status);
    if (is_there == 0) return false;
    const int source = status.source;
    int64_t length = 0;
    mpi_.Recv(&length, sizeof length, mpi_.byte, source, kLengthTag, mpi_.world, &status);
    if (length == kGoodbye) {
      ++goodbyes_;
      return true;
    }
    WireBytes bytes(static_cast<size_t>(length));
    for (size_t at = 0; at < bytes.size(); at += kPiece) {
      mpi_.Recv(bytes.data() + at, static_cast<int>(std::min(kPiece, bytes.size() - at)), mpi_.byte,
                source, kPieceTag, mpi_.world, &status);
    }
    {
      const std::lock_guard lock(mutex_);
      come_.push_back(std::move(bytes));
    }
    has_come_.notify_one();
    return true;
  }

  const Mpi mpi_;
  int rank_ = 0, size_ = 1;
  std::thread worker_;
  std::list<Outgoing> sending_;  // the worker's, as are:
  bool has_said_goodbye_ = false;
  int goodbyes_ = 0;  // of others
  std::mutex mutex_;
  std::condition_variable has_come_;
  std::deque<Outgoing> waiting_;
  std::deque<WireBytes> come_;
  bool is_closing_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeMpiTransport() {
  ASSIGN_OR_RETURN(const Mpi mpi, LoadMpi());
  auto transport = std::make_unique<MpiTransport>(mpi);
  RETURN_IF_ERROR(transport->Start());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace hlo
