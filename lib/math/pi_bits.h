// lib/math/pi_bits.h
//
// 2/pi for arguments of any size: row g holds 2/pi * 2^(first + step g)
// mod 2^modulus as a sum of doubles.
// Written by scripts/fit_minimax.py; change that, not this.
#pragma once

namespace hlo::math {

inline constexpr int kPiBitsF32First = 16;
inline constexpr int kPiBitsF32Groups = 7;
// step 16, modulus 2^25, 2 doubles a row.
inline constexpr double kPiBitsF32[] = {
    0x1.45f306dc9c883p+15, -0x1.6b01ec5417056p-39, 0x1.f306dc9c882a5p+23, 0x1.fc2757d1f534ep-32,
    0x1.6e4e441529fc2p+24, 0x1.d5f47d4d37703p-30,  0x1.1054a7f09d5f4p+22, 0x1.f534ddc0db629p-32,
    0x1.29fc2757d1f53p+24, 0x1.377036d8a5665p-30,  0x1.3abe8fa9a6ee0p+21, 0x1.b6c52b3278872p-33,
    0x1.d1f534ddc0db6p+24, 0x1.4acc9e21c8210p-31};

inline constexpr int kPiBitsF64First = 28;
inline constexpr int kPiBitsF64Groups = 32;
// step 32, modulus 2^54, 4 doubles a row.
inline constexpr double kPiBitsF64[] = {
    0x1.45f306dc9c883p+27, -0x1.6b01ec5417056p-27, -0x1.6447e493ad4cep-81, 0x1.e21c820ff28b2p-135,
    0x1.7cc1b727220a9p+53, 0x1.3f84eafa3ea6ap-1,   -0x1.11f924eb53362p-55, 0x1.0e4107f9458ebp-110,
    0x1.220a94fe13abfp+53, -0x1.c1596447e493bp-1,  0x1.5993c439041fep-56,  0x1.458eaf7aef158p-110,
    0x1.3abe8fa9a6ee0p+49, 0x1.b6c52b3278872p-5,   0x1.07f9458eaf7afp-62,  -0x1.d4f246dc8e2dfp-119,
    0x1.34ddc0db6295ap+52, -0x1.b0ef1bef806bap-2,  -0x1.c5421443a9e49p-56, 0x1.2371d2126e970p-111,
    0x1.b14acc9e21c82p+53, 0x1.fe5163abdebbcp-4,   0x1.586dc91b8e909p-58,  0x1.ba5c00c925dd4p-113,
    0x1.0e4107f9458ebp+50, -0x1.0a21d4f246dc9p-7,  0x1.d2126e9700325p-63,  -0x1.a22bec5cdbc60p-117,
    0x1.28b1d5ef5de2bp+53, 0x1.b7246e3a424ddp-4,   0x1.700324977504fp-59,  -0x1.cdbc603c429c7p-113,
    0x1.5de2b0db92372p+53, -0x1.6f6c8b47fe6dbp-2,  -0x1.115f62e6de302p-56, 0x1.deb1cb129a73fp-112,
    0x1.92371d2126e97p+53, 0x1.924bba8274648p-10,  0x1.cfe1deb1cb12ap-64,  -0x1.63045df7282b4p-118,
    0x1.26e9700324977p+53, 0x1.413a32439fc3cp-1,   -0x1.4e34ed658c117p-56, -0x1.f7282b4512edfp-110,
    0x1.24977504e8c91p+53, -0x1.80f10a71a76b3p-3,  0x1.cfba208d7d4bbp-58,  -0x1.2edec598e3f65p-114,
    0x1.d1921cfe1deb2p+52, -0x1.a76b2c608bbeep-3,  -0x1.415a28976f62dp-57, 0x1.c7026b45f7e41p-112,
    0x1.0ef58e5894d3ap+53, -0x1.177dca0ad144cp-4,  0x1.213a671c09ad1p-58,  0x1.f7e413991d63ap-112,
    0x1.29a73ee88235fp+52, 0x1.4baed1213a672p-2,   -0x1.fb29741037d8dp-57, 0x1.1d639835339f5p-112,
    0x1.046bea5d76891p+51, -0x1.8b31c7eca5d04p-3,  -0x1.bec66e29c67cbp-60, 0x1.9cfa4e422fc5ep-115,
    0x1.5da24274ce381p+53, 0x1.ad17df904e647p-2,   0x1.639835339f49dp-56,  -0x1.ee81d1081b5f1p-110,
    0x1.9c7026b45f7e4p+52, 0x1.3991d63983534p-4,   -0x1.82d8dee81d108p-58, -0x1.b5f13801da001p-114,
    0x1.7df904e64758ep+50, 0x1.835339f49c846p-4,   -0x1.d1081b5f13802p-62, 0x1.2fffbc0b301fep-117,
    0x1.91d639835339fp+52, 0x1.272117e2ef7e5p-2,   -0x1.7c4e007680022p-56, 0x1.6603fbcbc462dp-114,
    0x1.a99cfa4e422fcp+53, 0x1.77bf250763ff1p-1,   0x1.7ffde05980fefp-56,  0x1.788c5ad053690p-111,
    0x1.08bf177bf2507p+51, 0x1.8ffc4bffef02dp-3,   -0x1.fc04343b9d298p-58, 0x1.4da3eda6cfd9ep-113,
    0x1.f9283b1ff8980p+52, -0x1.0fd33f8086877p-7,  -0x1.d297d64b824b2p-62, -0x1.8130d834f648bp-116,
    0x1.fc4bffef02cc0p+53, 0x1.fde5e2316b415p-1,   -0x1.2e092c98130d8p-56, -0x1.a7b24585ce04dp-111,
    0x1.02cc07f79788cp+53, 0x1.6b414da3eda6dp-1,   -0x1.30d834f648b0cp-60, 0x1.8fd9a797fa8b6p-114,
    0x1.9788c5ad05369p+53, -0x1.25930261b069fp-5,  0x1.b74f463f669e6p-60,  -0x1.5d28ad8453814p-120,
    0x1.05368fb69b3f6p+53, 0x1.e4f96136e9e8cp-1,   0x1.fb34f2ff516bbp-55,  -0x1.b08a7028341d1p-109,
    0x1.367ecf27cb09bp+52, 0x1.d3d18fd9a7980p-2,   -0x1.5d28ad8453814p-56, -0x1.a0e84c2f8c608p-112,
    0x1.e584dba7a31fbp+53, 0x1.a797fa8b5d49fp-2,   -0x1.4e050683a130cp-58, 0x1.ce7de294a4baap-114,
    0x1.a31fb34f2ff51p+53, 0x1.aea4f758fd7ccp-1,   -0x1.d0985f18c10ebp-57, -0x1.6b68aca025027p-111,
    0x1.2ff516ba93dd6p+53, 0x1.faf97c5ecf41dp-2,   -0x1.821d6b5b45650p-58, -0x1.2813b81ca8bdfp-114,
    0x1.27bac7ebe5f18p+52, -0x1.30be31821d6b6p-2,  0x1.2ea6bfb5fb120p-56,  -0x1.ca8bdea7f33eep-110};

}  // namespace hlo::math
