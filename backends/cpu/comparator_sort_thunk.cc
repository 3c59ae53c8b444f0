#include "backends/cpu/comparator_sort_thunk.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/container/inlined_vector.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {
namespace {

class ComparatorSortThunk final : public CpuThunk {
 public:
  ComparatorSortThunk(const Instruction& sort, const ThunkBuffers& buffers, KernelCode comparator,
                      int threads)
      : CpuThunk(sort.name()),
        sort_(sort),
        outputs_(buffers.results),
        comparator_(std::move(comparator)) {
    const Shape shape = sort.operand(0)->shape();
    const auto d = static_cast<int>(sort.attrs<SortAttrs>().dimensions.value);
    size_ = shape.dim(d);
    for (int i = d + 1; i < shape.rank(); ++i) stride_ *= shape.dim(i);
    lines_ = size_ == 0 ? 0 : shape.element_count() / size_;
    parts_ = std::max<int64_t>(1, std::min<int64_t>(threads, lines_));
    for (size_t k = 0; k < buffers.operands.size(); ++k) {
      inputs_.push_back(buffers.operands[k][0]);
      bytes_.push_back(ByteSize(sort.operand(static_cast<int>(k))->shape().element_type()));
      const int first = static_cast<int>(2 * k);
      if (sort.to_apply()->parameter(first)->has_uses() ||
          sort.to_apply()->parameter(first + 1)->has_uses() ||
          sort.to_apply()->root()->opcode() == Opcode::kParameter)
        compared_.push_back(k);
    }
  }
  std::string_view kind() const override { return "sort"; }
  BufferUses uses() const override { return {inputs_, outputs_}; }
  int64_t scratch_bytes() const override { return parts_ * ScratchPerPart(); }

  absl::Status Run(CpuState& state) const override {
    const CrashLine place(WriteKernelPlace, &sort_);
    absl::InlinedVector<absl::Status, 16> statuses(static_cast<size_t>(parts_));
    state.pool->ParallelFor(parts_, [&](int64_t part, int) {
      auto* order = reinterpret_cast<int64_t*>(state.scratch + part * ScratchPerPart());
      Line line(*this, state);
      for (int64_t i = lines_ * part / parts_; i < lines_ * (part + 1) / parts_; ++i)
        line.Sort(i, order, order + size_);
      statuses[static_cast<size_t>(part)] = line.status();
    });
    return FirstError(statuses);
  }

 private:
  int64_t ScratchPerPart() const { return 2 * size_ * static_cast<int64_t>(sizeof(int64_t)); }

  // One run of elements along the sorted dimension.
  class Line {
   public:
    Line(const ComparatorSortThunk& sort, CpuState& state) : sort_(sort) {
      for (const BufferSlice& slice : sort.inputs_)
        inputs_.push_back(static_cast<std::byte*>(state.Address(slice)));
      for (const BufferSlice& slice : sort.outputs_)
        outputs_.push_back(static_cast<std::byte*>(state.Address(slice)));
      arguments_.resize(2 * inputs_.size() + 1);
      for (size_t k = 0; k < inputs_.size(); ++k)
        arguments_[2 * k] = arguments_[2 * k + 1] = inputs_[k];
      keys_.resize(sort_.compared_.size());
    }

    void Sort(int64_t line, int64_t* order, int64_t* other) {
      start_ = line / sort_.stride_ * sort_.size_ * sort_.stride_ + line % sort_.stride_;
      for (size_t n = 0; n < keys_.size(); ++n) {
        const size_t k = sort_.compared_[n];
        keys_[n] = {At(inputs_, k, 0), sort_.stride_ * sort_.bytes_[k], &arguments_[2 * k],
                    &arguments_[2 * k + 1]};
      }
      std::iota(order, order + sort_.size_, int64_t{0});
      for (int64_t width = 1; width < sort_.size_; width *= 2) {
        for (int64_t lo = 0; lo < sort_.size_; lo += 2 * width) {
          Merge(order + lo, std::min(width, sort_.size_ - lo),
                std::min(2 * width, sort_.size_ - lo), other + lo);
        }
        std::swap(order, other);
      }
      for (size_t k = 0; k < inputs_.size(); ++k) {
        for (int64_t i = 0; i < sort_.size_; ++i)
          std::memcpy(At(outputs_, k, i), At(inputs_, k, order[i]), Bytes(k));
      }
    }

    // Of the comparator: the first failure.
    const absl::Status& status() const { return status_; }

   private:
    size_t Bytes(size_t k) const { return static_cast<size_t>(sort_.bytes_[k]); }
    std::byte* At(const std::vector<std::byte*>& arrays, size_t k, int64_t i) const {
      return arrays[k] + (start_ + i * sort_.stride_) * sort_.bytes_[k];
    }

    // from[0, middle) and from[middle, end), each in order, into `to`.
    void Merge(const int64_t* from, int64_t middle, int64_t end, int64_t* to) {
      int64_t a = 0, b = middle;
      if (b == end || !Before(from[b], from[b - 1])) {
        std::copy(from, from + end, to);
        return;
      }
      while (a < middle && b < end) *to++ = Before(from[b], from[a]) ? from[b++] : from[a++];
      to = std::copy(from + a, from + middle, to);
      std::copy(from + b, from + end, to);
    }

    // Whether row i must stand before row j.
    bool Before(int64_t i, int64_t j) {
      for (const Key& key : keys_) {
        *key.first = key.base + i * key.step;
        *key.second = key.base + j * key.step;
      }
      uint8_t verdict = 0;
      arguments_.back() = &verdict;
      const absl::Status status = sort_.comparator_.Run(absl::MakeSpan(arguments_), 0, 1, nullptr);
      if (!status.ok()) status_.Update(status);
      return verdict != 0;
    }

    // An operand that the comparator looks at.
    struct Key {
      std::byte* base;  // of row 0
      int64_t step;
      void** first;  // where the comparator finds the addresses of both sides
      void** second;
    };

    const ComparatorSortThunk& sort_;
    std::vector<Key> keys_;
    std::vector<std::byte*> inputs_, outputs_;
    std::vector<void*> arguments_;
    int64_t start_ = 0;
    absl::Status status_;
  };

  const Instruction& sort_;
  std::vector<BufferSlice> inputs_, outputs_;
  std::vector<int64_t> bytes_;    // of an element, by operand
  std::vector<size_t> compared_;  // operands that the comparator looks at
  KernelCode comparator_;
  int64_t size_ = 0, stride_ = 1, lines_ = 0, parts_ = 1;
};

}  // namespace

std::unique_ptr<Thunk> MakeComparatorSortThunk(const Instruction& sort, const ThunkBuffers& buffers,
                                               KernelCode comparator, int threads) {
  return std::make_unique<ComparatorSortThunk>(sort, buffers, std::move(comparator), threads);
}

}  // namespace hlo::cpu
