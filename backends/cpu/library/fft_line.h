// backends/cpu/library/fft_line.h
//
// Transforms for fft.cc, in terms of the passes of fft_kernels.h. Internal to this folder.
//
// FftLanes transforms as many lines as a vector has lanes, side by side. Lengths made of small
// primes take one pass per radix: 8 and 4, then 2, 3, 5, others. Other lengths: Bluestein's method,
// a convolution with a chirp by transforms of a power of two.
//
// FftLine transforms one line, taken as a matrix: its columns are transformed side by side,
// multiplied with roots and transposed, then the columns of that are transformed. All of it stays
// in the cache, and nothing but the passes depends on the length.
//
// Inverse transforms are not scaled.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/library/fft_kernels.h"

namespace hlo::cpu {

// exp(2 pi i * numerator / denominator), negative exponents for a forward transform.
template <class T>
void AppendRoot(int64_t numerator, int64_t denominator, bool is_inverse, std::vector<T>& pairs);

// Real and imaginary parts apart.
template <class T>
struct SplitTable {
  std::vector<T> re, im;
  void Append(int64_t numerator, int64_t denominator, bool is_inverse);
  FftSplit<T> split() const { return {const_cast<T*>(re.data()), const_cast<T*>(im.data())}; }
};

template <class T>
class FftLanes final {
 public:
  FftLanes(int64_t length, bool is_inverse, const FftKernels<T>& kernels);

  int64_t length() const { return length_; }
  // Numbers of T that a block of `rows` rows takes, and that Run needs to work.
  int64_t block_size(int64_t rows) const { return 2 * rows * kernels_.lanes; }
  int64_t work_size() const;
  FftRows<T> Block(T* at) const { return {at, at + kernels_.lanes, 2 * kernels_.lanes}; }

  // `to` may be `from`.
  void Run(const FftRows<T>& from, const FftRows<T>& to, T* work) const;

 private:
  void MakePasses();
  void MakeChirp();
  void RunPasses(const FftRows<T>& from, const FftRows<T>& to, T* work) const;
  void RunBluestein(const FftRows<T>& from, const FftRows<T>& to, T* work) const;

  int64_t length_;
  bool is_inverse_;
  const FftKernels<T>& kernels_;
  std::vector<FftPass<T>> passes_;  // their roots are in roots_
  std::vector<T> roots_;
  // Bluestein: the chirp, the transform of its conjugate, and transforms of a power of two.
  std::vector<T> chirp_, chirp_transform_;
  std::unique_ptr<FftLanes> forward_, backward_;
};

template <class T>
class FftLine final {
 public:
  FftLine(int64_t length, bool is_inverse, const FftKernels<T>& kernels);

  int64_t length() const { return length_; }
  // Numbers of T that each part of a line takes: whole vectors may be read past its end.
  int64_t part_size() const { return length_ + kernels_.lanes; }
  int64_t work_size() const;

  // `to` may not be `from`; `from` is overwritten by some lengths.
  void Run(const FftSplit<T>& from, const FftSplit<T>& to, T* work) const;

 private:
  void MakeMatrix();
  void MakeChirp();
  void RunMatrix(const FftSplit<T>& from, const FftSplit<T>& to, T* work) const;
  void RunBluestein(const FftSplit<T>& from, const FftSplit<T>& to, T* work) const;

  int64_t length_;
  bool is_inverse_;
  const FftKernels<T>& kernels_;
  // rows_->length() x columns_->length() numbers; transforms along the first and the second.
  std::unique_ptr<FftLanes<T>> rows_, columns_;
  int64_t transposed_stride_ = 0;
  SplitTable<T> twist_;  // for each block of columns, [row][lane]
  SplitTable<T> chirp_, chirp_transform_;
  std::unique_ptr<FftLine> forward_, backward_;
};

extern template struct SplitTable<float>;
extern template struct SplitTable<double>;
extern template class FftLanes<float>;
extern template class FftLanes<double>;
extern template class FftLine<float>;
extern template class FftLine<double>;

}  // namespace hlo::cpu
