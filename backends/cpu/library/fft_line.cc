#include "backends/cpu/library/fft_line.h"

#include <algorithm>
#include <utility>

#include "lib/math/native.h"
#include "lib/math/roots_of_unity.h"
#include "lib/support/round.h"

namespace hlo::cpu {
namespace {

// Radices whose product is n, or none if a prime factor is too large.
std::vector<int> RadicesOf(int64_t n) {
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  std::vector<int> radices;
  for (; twos >= 5 || twos == 3; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (const int p : {3, 5, 7, 11, kLargestFftRadix}) {
    for (; n % p == 0; n /= p) radices.push_back(p);
  }
  if (n > 1) radices.clear();
  return radices;
}

bool HasSmallFactors(int64_t n) { return n == 1 || !RadicesOf(n).empty(); }

int64_t PowerOfTwoFrom(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// chirp[j] = exp(+-pi i j^2 / n); the angle repeats after 2n, which keeps it exact.
int64_t ChirpStep(int64_t j, int64_t n) {
  return static_cast<int64_t>(static_cast<__int128>(j) * j % (2 * n));
}

}  // namespace

template <class T>
void AppendRoot(int64_t numerator, int64_t denominator, bool is_inverse, std::vector<T>& pairs) {
  const auto root = math::RootOfUnity(numerator, denominator);
  pairs.push_back(static_cast<T>(root.re));
  pairs.push_back(static_cast<T>(is_inverse ? root.im : -root.im));
}

template <class T>
void SplitTable<T>::Append(int64_t numerator, int64_t denominator, bool is_inverse) {
  std::vector<T> pair;
  AppendRoot(numerator, denominator, is_inverse, pair);
  re.push_back(pair[0]);
  im.push_back(pair[1]);
}

template <class T>
FftLanes<T>::FftLanes(int64_t length, bool is_inverse, const FftKernels<T>& kernels)
    : length_(length), is_inverse_(is_inverse), kernels_(kernels) {
  if (HasSmallFactors(length)) {
    MakePasses();
  } else {
    MakeChirp();
  }
}

template <class T>
void FftLanes<T>::MakePasses() {
  std::vector<size_t> starts;
  int64_t stride = 1;
  for (const int radix : RadicesOf(length_)) {
    FftPass<T> pass;
    pass.radix = radix;
    pass.stride = stride;
    pass.groups = length_ / stride / radix;
    pass.is_inverse = is_inverse_;
    passes_.push_back(pass);
    starts.push_back(roots_.size());
    for (int64_t j = 0; j < pass.groups; ++j) {
      for (int64_t r = 1; r < radix; ++r) AppendRoot(j * r * stride, length_, is_inverse_, roots_);
    }
    starts.push_back(roots_.size());
    for (int64_t r = 0; r < radix; ++r) AppendRoot(r, radix, is_inverse_, roots_);
    stride *= radix;
  }
  for (size_t i = 0; i < passes_.size(); ++i) {
    passes_[i].roots = roots_.data() + starts[2 * i];
    passes_[i].inner = roots_.data() + starts[2 * i + 1];
  }
}

template <class T>
void FftLanes<T>::MakeChirp() {
  const int64_t power = PowerOfTwoFrom(2 * length_ - 1);
  forward_ = std::make_unique<FftLanes>(power, /*is_inverse=*/false, kernels_);
  backward_ = std::make_unique<FftLanes>(power, /*is_inverse=*/true, kernels_);
  // The transform of the conjugate chirp, in the first lane of a block.
  std::vector<T> block(static_cast<size_t>(block_size(power) + forward_->work_size()));
  const FftRows<T> rows = Block(block.data());
  for (int64_t j = 0; j < length_; ++j) {
    AppendRoot(ChirpStep(j, length_), 2 * length_, is_inverse_, chirp_);
    const T re = chirp_[static_cast<size_t>(2 * j)], im = -chirp_[static_cast<size_t>(2 * j + 1)];
    for (const int64_t at : {j, (power - j) % power}) {
      rows.re[at * rows.stride] = re;
      rows.im[at * rows.stride] = im;
    }
  }
  forward_->Run(rows, rows, block.data() + block_size(power));
  const T scale = T{1} / static_cast<T>(power);
  for (int64_t j = 0; j < power; ++j) {
    chirp_transform_.push_back(rows.re[j * rows.stride] * scale);
    chirp_transform_.push_back(rows.im[j * rows.stride] * scale);
  }
}

template <class T>
int64_t FftLanes<T>::work_size() const {
  if (forward_ == nullptr) return 2 * block_size(length_);
  return block_size(forward_->length()) + forward_->work_size();
}

template <class T>
void FftLanes<T>::Run(const FftRows<T>& from, const FftRows<T>& to, T* work) const {
  if (forward_ == nullptr) {
    RunPasses(from, to, work);
  } else {
    RunBluestein(from, to, work);
  }
}

template <class T>
void FftLanes<T>::RunPasses(const FftRows<T>& from, const FftRows<T>& to, T* work) const {
  if (passes_.empty()) {
    const T one[2] = {1, 0};
    kernels_.scale_rows(from, 1, one, to);
    return;
  }
  const FftRows<T> between[2] = {Block(work), Block(work + block_size(length_))};
  FftRows<T> source = from;
  for (size_t i = 0; i < passes_.size(); ++i) {
    const FftRows<T> target = i + 1 == passes_.size() ? to : between[i % 2];
    kernels_.pass(passes_[i], source, target);
    source = target;
  }
}

template <class T>
void FftLanes<T>::RunBluestein(const FftRows<T>& from, const FftRows<T>& to, T* work) const {
  const int64_t power = forward_->length();
  const FftRows<T> padded = Block(work);
  T* const inner = work + block_size(power);
  kernels_.scale_rows(from, length_, chirp_.data(), padded);
  std::fill(work + block_size(length_), work + block_size(power), T{});
  forward_->Run(padded, padded, inner);
  kernels_.scale_rows(padded, power, chirp_transform_.data(), padded);
  backward_->Run(padded, padded, inner);
  kernels_.scale_rows(padded, length_, chirp_.data(), to);
}

template <class T>
FftLine<T>::FftLine(int64_t length, bool is_inverse, const FftKernels<T>& kernels)
    : length_(length), is_inverse_(is_inverse), kernels_(kernels) {
  if (HasSmallFactors(length)) {
    MakeMatrix();
  } else {
    MakeChirp();
  }
}

template <class T>
void FftLine<T>::MakeMatrix() {
  // The fewest vectors, lanes that are not used included; among equals the squarest.
  const int64_t lanes = kernels_.lanes;
  int64_t best = 1, best_cost = -1;
  for (int64_t rows = 1; rows * rows <= length_; ++rows) {
    if (length_ % rows != 0) continue;
    const int64_t columns = length_ / rows;
    const int64_t cost = rows * RoundUp(columns, lanes) + columns * RoundUp(rows, lanes);
    if (best_cost < 0 || cost <= best_cost) {
      best = rows;
      best_cost = cost;
    }
  }
  rows_ = std::make_unique<FftLanes<T>>(best, is_inverse_, kernels_);
  columns_ = std::make_unique<FftLanes<T>>(length_ / best, is_inverse_, kernels_);
  transposed_stride_ = RoundUp(best, lanes);
  for (int64_t first = 0; first < columns_->length(); first += lanes) {
    for (int64_t row = 0; row < best; ++row) {
      for (int64_t i = 0; i < lanes; ++i)
        twist_.Append(row * (first + i) % length_, length_, is_inverse_);
    }
  }
}

template <class T>
void FftLine<T>::MakeChirp() {
  const int64_t power = PowerOfTwoFrom(2 * length_ - 1);
  forward_ = std::make_unique<FftLine>(power, /*is_inverse=*/false, kernels_);
  backward_ = std::make_unique<FftLine>(power, /*is_inverse=*/true, kernels_);
  const auto size = static_cast<size_t>(forward_->part_size());
  SplitTable<T> conjugate{std::vector<T>(size), std::vector<T>(size)};
  for (int64_t j = 0; j < length_; ++j) {
    chirp_.Append(ChirpStep(j, length_), 2 * length_, is_inverse_);
    for (const int64_t at : {j, (power - j) % power}) {
      conjugate.re[static_cast<size_t>(at)] = chirp_.re.back();
      conjugate.im[static_cast<size_t>(at)] = -chirp_.im.back();
    }
  }
  chirp_transform_ = {std::vector<T>(size), std::vector<T>(size)};
  std::vector<T> work(static_cast<size_t>(forward_->work_size()));
  forward_->Run(conjugate.split(), chirp_transform_.split(), work.data());
  const T scale = T{1} / static_cast<T>(power);
  for (std::vector<T>* part : {&chirp_transform_.re, &chirp_transform_.im}) {
    for (T& x : *part) x *= scale;
  }
}

template <class T>
int64_t FftLine<T>::work_size() const {
  if (forward_ != nullptr) return 4 * forward_->part_size() + forward_->work_size();
  const int64_t block = columns_->block_size(std::max(rows_->length(), columns_->length()));
  return 2 * transposed_stride_ * columns_->length() + block +
         std::max(rows_->work_size(), columns_->work_size());
}

template <class T>
void FftLine<T>::Run(const FftSplit<T>& from, const FftSplit<T>& to, T* work) const {
  if (forward_ == nullptr) {
    RunMatrix(from, to, work);
  } else {
    RunBluestein(from, to, work);
  }
}

template <class T>
void FftLine<T>::RunMatrix(const FftSplit<T>& from, const FftSplit<T>& to, T* work) const {
  const int64_t rows = rows_->length(), columns = columns_->length(), lanes = kernels_.lanes;
  const FftRows<T> transposed = {work, work + transposed_stride_ * columns, transposed_stride_};
  T* const block = work + 2 * transposed_stride_ * columns;
  T* const inner = block + columns_->block_size(std::max(rows, columns));
  const FftRows<T> result = rows_->Block(block);
  const FftSplit<T> twist = twist_.split();
  for (int64_t first = 0; first < columns; first += lanes) {
    rows_->Run({from.re + first, from.im + first, columns}, result, inner);
    kernels_.twist(result, rows, std::min(lanes, columns - first),
                   {twist.re + first * rows, twist.im + first * rows},
                   {transposed.re + first * transposed.stride,
                    transposed.im + first * transposed.stride, transposed.stride});
  }
  for (int64_t first = 0; first < rows; first += lanes) {
    const FftRows<T> source = {transposed.re + first, transposed.im + first, transposed.stride};
    const int64_t count = std::min(lanes, rows - first);
    if (count == lanes) {
      columns_->Run(source, {to.re + first, to.im + first, rows}, inner);
      continue;
    }
    columns_->Run(source, result, inner);
    for (int64_t i = 0; i < columns; ++i) {
      std::copy_n(result.re + i * result.stride, count, to.re + first + i * rows);
      std::copy_n(result.im + i * result.stride, count, to.im + first + i * rows);
    }
  }
}

template <class T>
void FftLine<T>::RunBluestein(const FftSplit<T>& from, const FftSplit<T>& to, T* work) const {
  const int64_t power = forward_->length(), part = forward_->part_size();
  const FftSplit<T> padded = {work, work + part}, other = {work + 2 * part, work + 3 * part};
  T* const inner = work + 4 * part;
  kernels_.multiply(from, chirp_.split(), length_, padded);
  std::fill(padded.re + length_, padded.re + power, T{});
  std::fill(padded.im + length_, padded.im + power, T{});
  forward_->Run(padded, other, inner);
  kernels_.multiply(other, chirp_transform_.split(), power, other);
  backward_->Run(other, padded, inner);
  kernels_.multiply(padded, chirp_.split(), length_, to);
}

template void AppendRoot<float>(int64_t, int64_t, bool, std::vector<float>&);
template void AppendRoot<double>(int64_t, int64_t, bool, std::vector<double>&);
template struct SplitTable<float>;
template struct SplitTable<double>;
template class FftLanes<float>;
template class FftLanes<double>;
template class FftLine<float>;
template class FftLine<double>;

}  // namespace hlo::cpu
