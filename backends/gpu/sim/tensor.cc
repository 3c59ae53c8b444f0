#include "backends/gpu/sim/tensor.h"

#include <bit>
#include <cstring>

#include "lib/types/float_types.h"

namespace hlo::gpu {
namespace {

constexpr int kRows = 16;
constexpr int kColumns = 8;

float Half(uint32_t word, int part) { return F16::FromBits(word >> (16 * part)).ToFloat(); }
float Brain(uint32_t word, int part) { return std::bit_cast<float>(word >> (16 * part) << 16); }
// The hardware does not see the last 13 bits.
float Tf32(uint32_t word) { return std::bit_cast<float>(word & ~0x1fffu); }

struct Operands {
  int depth = 0;
  double a[kRows][16] = {};
  double b[16][kColumns] = {};
};

// Pairs of 16-bit elements: words of a are (row, depth), (row + 8, depth), (row, depth + 8),
// (row + 8, depth + 8); words of b are (depth, column), (depth + 8, column).
template <class Read>
void TakePairs(const std::array<TensorPayload*, 32>& lanes, Read read, Operands& m) {
  m.depth = 16;
  for (size_t lane = 0; lane < 32; ++lane) {
    const auto& in = lanes[lane]->in;
    const size_t group = lane / 4, pair = lane % 4 * 2;
    for (size_t word = 0; word < 4; ++word) {
      for (size_t part = 0; part < 2; ++part) {
        m.a[group + word % 2 * 8][pair + word / 2 * 8 + part] =
            read(in[word], static_cast<int>(part));
      }
    }
    for (size_t word = 0; word < 2; ++word) {
      for (size_t part = 0; part < 2; ++part)
        m.b[pair + word * 8 + part][group] = read(in[4 + word], static_cast<int>(part));
    }
  }
}

void TakeTf32(const std::array<TensorPayload*, 32>& lanes, Operands& m) {
  m.depth = 8;
  for (size_t lane = 0; lane < 32; ++lane) {
    const auto& in = lanes[lane]->in;
    const size_t group = lane / 4, at = lane % 4;
    for (size_t word = 0; word < 4; ++word)
      m.a[group + word % 2 * 8][at + word / 2 * 4] = Tf32(in[word]);
    for (size_t word = 0; word < 2; ++word) m.b[at + word * 4][group] = Tf32(in[4 + word]);
  }
}

void Multiply(const std::array<TensorPayload*, 32>& lanes, const Operands& m) {
  for (size_t lane = 0; lane < 32; ++lane) {
    TensorPayload& payload = *lanes[lane];
    for (size_t word = 0; word < 4; ++word) {
      const size_t row = lane / 4 + word / 2 * 8;
      const size_t column = lane % 4 * 2 + word % 2;
      double sum = std::bit_cast<float>(payload.in[6 + word]);
      for (int k = 0; k < m.depth; ++k) {
        const auto depth = static_cast<size_t>(k);
        sum += m.a[row][depth] * m.b[depth][column];
      }
      payload.out[word] = std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
  }
}

// Lanes 8 i to 8 i + 7 give the rows of matrix i; of each lane gets two neighbours of a row.
void LoadMatrices(const std::array<TensorPayload*, 32>& lanes, bool transposed) {
  uint16_t rows[4][8][8];
  for (size_t lane = 0; lane < 32; ++lane) {
    const auto& in = lanes[lane]->in;
    const auto address = static_cast<uintptr_t>(in[0] | static_cast<uint64_t>(in[1]) << 32);
    std::memcpy(rows[lane / 8][lane % 8], reinterpret_cast<const void*>(address), 16);
  }
  for (size_t lane = 0; lane < 32; ++lane) {
    for (size_t i = 0; i < 4; ++i) {
      const size_t r = lane / 4, c = lane % 4 * 2;
      const uint32_t low = transposed ? rows[i][c][r] : rows[i][r][c];
      const uint32_t high = transposed ? rows[i][c + 1][r] : rows[i][r][c + 1];
      lanes[lane]->out[i] = low | high << 16;
    }
  }
}

}  // namespace

void ResolveTensor(TensorOp op, const std::array<TensorPayload*, 32>& lanes) {
  if (LoadsMatrix(op)) return LoadMatrices(lanes, op == TensorOp::kLoadMatrixTrans);
  Operands m;
  switch (op) {
    case TensorOp::kMmaBf16: TakePairs(lanes, Brain, m); break;
    case TensorOp::kMmaF16: TakePairs(lanes, Half, m); break;
    case TensorOp::kMmaTf32: TakeTf32(lanes, m); break;
    case TensorOp::kLoadMatrix:
    case TensorOp::kLoadMatrixTrans: return;
  }
  Multiply(lanes, m);
}

}  // namespace hlo::gpu
